package network

import (
	"encoding/binary"
	"fmt"

	"plimsoll/internal/load"
)

// inOrder speaks requests and responses over a connection, which answers in the
// order of the requests and says nothing but how long it is.
type inOrder struct {
	request  []byte
	response int
	window   int
	have     int // bytes of the incomplete response
	slots    []int
	from, to int // of the slots outstanding, of which there are window at most
}

func newInOrder(request, response, window int) *inOrder {
	return &inOrder{request: make([]byte, request), response: response, window: window, slots: make([]int, window)}
}

// Request appends a request.
func (d *inOrder) Request(buffer []byte, slot int) ([]byte, int) {
	d.slots[d.to%d.window] = slot
	d.to++
	return append(buffer, d.request...), 0
}

// Answer counts bytes until a response is whole. That is all there is to check:
// more bytes than were asked for are no responses, from the first one on.
func (d *inOrder) Answer(data []byte) (load.Answer, int, error) {
	if extra := len(data) - ((d.to-d.from)*d.response - d.have); extra > 0 {
		return load.Answer{Slot: load.NoSlot}, 0, fmt.Errorf("%d unexpected bytes from the reflector", extra)
	}
	if d.have+len(data) < d.response {
		d.have += len(data)
		return load.Answer{Slot: load.NoSlot}, len(data), nil
	}
	used := d.response - d.have
	d.have = 0
	slot := d.slots[d.from%d.window]
	d.from++
	return load.Answer{Slot: slot, Bytes: int64(len(d.request) + d.response)}, used, nil
}

// mostNumber is how many bytes of a datagram number it, where it is as long.
const mostNumber = 4

// numbers is how many requests of a size can be told apart.
func numbers(size int) int { return 1 << (8 * min(size, mostNumber)) }

// numbered speaks requests and responses by datagrams, each of which may be lost,
// late, or come twice: they begin with a number, and the reflector repeats it. The
// number is that of the slot, plus the window times how often the slot was used, as far
// as the bytes go.
type numbered struct {
	request  []byte
	response int
	bytes    int // of the number
	turns    int // uses of a slot that can be told apart
	slots    []use
}

// use is the latest use of a slot.
type use struct {
	number uint32
	turn   int
	out    bool // not answered yet
}

func newNumbered(request, response, window int) *numbered {
	d := &numbered{
		request: make([]byte, request), response: response, bytes: min(request, response, mostNumber),
		turns: numbers(min(request, response)) / window, slots: make([]use, window),
	}
	return d
}

// Request appends a request with the slot's next number.
func (d *numbered) Request(buffer []byte, slot int) ([]byte, int) {
	s := &d.slots[slot]
	s.turn = (s.turn + 1) % d.turns
	s.number, s.out = uint32(slot+len(d.slots)*s.turn), true
	var number [mostNumber]byte
	binary.LittleEndian.PutUint32(number[:], s.number)
	at := len(buffer)
	buffer = append(buffer, d.request...)
	copy(buffer[at:], number[:d.bytes])
	return buffer, 0
}

// Answer takes one datagram. One that answers nothing, because it came twice or too
// late, is passed over.
func (d *numbered) Answer(data []byte) (load.Answer, int, error) {
	if len(data) != d.response {
		return load.Answer{Slot: load.NoSlot}, 0, fmt.Errorf("the reflector sends a datagram of %d bytes instead of %d", len(data), d.response)
	}
	var text [mostNumber]byte
	copy(text[:d.bytes], data)
	number := binary.LittleEndian.Uint32(text[:])
	slot := int(number) % len(d.slots)
	s := &d.slots[slot]
	if !s.out || s.number != number {
		return load.Answer{Slot: load.NoSlot}, len(data), nil
	}
	s.out = false
	return load.Answer{Slot: slot, Bytes: int64(len(d.request) + d.response)}, len(data), nil
}
