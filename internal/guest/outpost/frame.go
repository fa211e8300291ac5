package outpost

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
)

// kind is the kind of a frame between lab and keeper: a kind, four bytes of length, and the payload.
type kind byte

const (
	kindOrder kind = iota + 1 // of the lab: an Order in JSON
	kindBegin                 // the relays are connected
	kindAsk                   // number, verb, argument
	kindLease                 // the beat of this number is answered
	kindInput                 // bytes for the channel
	kindPages                 // see appendPage; of both

	kindReady     // of the keeper: the relays listen
	kindStarted   // process of QEMU
	kindAnswer    // number, and the answer
	kindRefusal   // number, and the error
	kindBeat      // its number
	kindOutput    // bytes of the channel
	kindClosed    // the channel
	kindConsole   // bytes of standard output
	kindComplaint // bytes of standard error
	kindEnded     // how QEMU ended
)

// verb is what a keeper is asked.
type verb byte

const (
	verbChannel verb = iota + 1 // connect to the channel
	verbQuiet                   // wait until the guest has read all that was sent to its channel
	verbDrain                   // pass on all that a stopped guest has sent
	verbTouched                 // pages of its memory that are not empty
	verbFlush                   // wait until the pages sent are in its memory
	verbTrack                   // copy its memory to the lab, whose target has touched pages
	verbTake                    // take the pages that changed
	verbCommit                  // send them
	verbDevices                 // the state of its devices that QEMU wrote
	verbFeed                    // give a standby the state of its devices
	verbKill                    // kill QEMU
)

const (
	headerSize = 5
	mostFrame  = 16 << 20 // the state of devices is the longest
)

// wire writes frames. Its methods may be called concurrently.
type wire struct {
	mu  sync.Mutex
	out io.Writer
}

func (w *wire) send(k kind, parts ...[]byte) error {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	frame := make([]byte, headerSize, headerSize+n)
	frame[0] = byte(k)
	binary.BigEndian.PutUint32(frame[1:], uint32(n))
	for _, p := range parts {
		frame = append(frame, p...)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.out.Write(frame)
	return err
}

// receive reads a frame.
func receive(r *bufio.Reader) (k kind, payload []byte, err error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(header[1:])
	if n > mostFrame {
		return 0, nil, fmt.Errorf("a frame of %d bytes, more than %d", n, mostFrame)
	}
	payload = make([]byte, n)
	_, err = io.ReadFull(r, payload)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return kind(header[0]), payload, err
}

// number is a number of four bytes, and take removes one from the front of a payload.
func number(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

func take(payload []byte) (n int, rest []byte, err error) {
	if len(payload) < 4 {
		return 0, nil, errors.New("a number is missing")
	}
	return int(binary.BigEndian.Uint32(payload)), payload[4:], nil
}

// numbers are several of them.
func numbers(all []int) (payload []byte) {
	for _, n := range all {
		payload = append(payload, number(n)...)
	}
	return payload
}

func parseNumbers(payload []byte) (all []int, err error) {
	for len(payload) > 0 {
		var n int
		if n, payload, err = take(payload); err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}
