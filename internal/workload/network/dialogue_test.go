package network

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"plimsoll/internal/load"
)

// However the bytes of the responses are cut, each response ends the oldest request.
func TestAnswersComeInOrder(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 2))
		window, response := 1+r.IntN(9), 1+r.IntN(40)
		d := newInOrder(1+r.IntN(5), response, window)
		var outstanding []int
		var wire, buffer []byte
		slot := 0
		for range 2000 {
			if len(outstanding) < window && r.IntN(2) == 0 {
				var class int
				buffer, class = d.Request(buffer[:0], slot)
				if len(buffer) != len(d.request) || class != 0 {
					t.Fatalf("a request of %d bytes, class %d", len(buffer), class)
				}
				outstanding = append(outstanding, slot)
				slot = (slot + 1) % window
				wire = append(wire, make([]byte, response)...)
			}
			for data := wire[:min(len(wire), r.IntN(60))]; len(data) > 0; {
				a, used, err := d.Answer(data)
				if err != nil || used < 1 {
					t.Fatalf("seed %d: used %d of %d bytes: %v", seed, used, len(data), err)
				}
				data, wire = data[used:], wire[used:]
				if a.Slot == load.NoSlot {
					continue
				}
				if a.Slot != outstanding[0] || a.Bytes != int64(len(d.request)+response) {
					t.Fatalf("seed %d: answered %+v, want slot %d", seed, a, outstanding[0])
				}
				outstanding = outstanding[1:]
			}
		}
		if len(wire) != response*len(outstanding)-d.have {
			t.Fatalf("seed %d: %d bytes left for %d answers", seed, len(wire), len(outstanding))
		}
	}
}

func TestAnswersThatNobodyAskedFor(t *testing.T) {
	d := newInOrder(1, 1, 2)
	if _, _, err := d.Answer([]byte("HTTP/1.1")); err == nil || !strings.Contains(err.Error(), "8 unexpected bytes") {
		t.Errorf("got %v", err)
	}
	n := newNumbered(4, 4, 1)
	if _, _, err := n.Answer([]byte("long one")); err == nil || !strings.Contains(err.Error(), "8 bytes instead of 4") {
		t.Errorf("got %v", err)
	}
}

// Datagrams are lost, doubled and late; each answer ends the request that it belongs
// to, or none.
func TestDatagramsFindTheirRequests(t *testing.T) {
	for _, c := range []struct{ size, window int }{{1, 1}, {1, 5}, {1, 256}, {2, 7}, {8, 64}} {
		r := rand.New(rand.NewPCG(uint64(c.size), uint64(c.window)))
		d := newNumbered(c.size, c.size, c.window)
		current := make([][]byte, c.window) // what each slot waits for
		var old [][]byte
		for range 20_000 {
			slot := r.IntN(c.window)
			if current[slot] != nil {
				switch request := current[slot]; r.IntN(3) {
				case 0: // answered, and answered again
					a, used, err := d.Answer(request)
					if a.Slot != slot || used != c.size || err != nil {
						t.Fatalf("%+v: answer to slot %d is taken for %+v, %v", c, slot, a, err)
					}
					if a, _, _ := d.Answer(request); a.Slot != load.NoSlot {
						t.Fatalf("%+v: a second answer to slot %d is taken for %+v", c, slot, a)
					}
				case 1: // lost: the slot is used again
				case 2: // late: for another use, of not too long ago
					old = append(old, request)
				}
			}
			request, _ := d.Request(nil, slot)
			current[slot] = bytes.Clone(request)
			if len(old) > 0 && d.turns > 8 && r.IntN(2) == 0 {
				late := old[len(old)-1]
				old = old[:0]
				if a, _, _ := d.Answer(late); a.Slot != load.NoSlot && !bytes.Equal(current[a.Slot], late) {
					t.Fatalf("%+v: a late answer is taken for %+v", c, a)
				} else if a.Slot != load.NoSlot {
					t.Fatalf("%+v: two uses of slot %d look alike within %d turns", c, a.Slot, d.turns)
				}
			}
		}
	}
}

func TestNothingIsAllocated(t *testing.T) {
	buffer := make([]byte, 0, 1000)
	for name, d := range map[string]load.Dialogue{"tcp": newInOrder(10, 10, 4), "udp": newNumbered(10, 10, 4)} {
		slot := 0
		if n := testing.AllocsPerRun(1000, func() {
			request, _ := d.Request(buffer[:0], slot)
			if a, _, err := d.Answer(request); err != nil || a.Slot != slot {
				t.Fatalf("%s: slot %d is answered as %+v, %v", name, slot, a, err)
			}
			slot = (slot + 1) % 4
		}); n != 0 {
			t.Errorf("%s: %g allocations an operation", name, n)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte("abcdefgh"), uint8(3), uint8(2))
	f.Fuzz(func(t *testing.T, data []byte, response, window uint8) {
		size, slots := 1+int(response), 1+int(window)
		d := newInOrder(1, size, slots)
		for slot := range slots {
			d.Request(nil, slot)
		}
		ended := 0
		data = data[:min(len(data), size*slots)]
		for len(data) > 0 && ended < slots {
			a, used, err := d.Answer(data)
			if err != nil || used < 1 || used > len(data) {
				t.Fatalf("used %d of %d, %v", used, len(data), err)
			}
			if a.Slot != load.NoSlot {
				ended++
			}
			data = data[used:]
		}
		if _, _, err := d.Answer(make([]byte, size*slots+1)); err == nil {
			t.Fatal("more than was asked for passes")
		}
		n := newNumbered(4, 4, slots)
		n.Answer(data) // whatever it is
	})
}
