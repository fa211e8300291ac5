package socket

import (
	"bufio"
	"fmt"
	"net"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/loadtest"
)

// haggler asks for a number and then for its double: two requests to an operation.
type haggler struct {
	slots    []int // under way, oldest first
	second   bool
	owed     int // what is to be asked next; 0 for nothing
	finished *int
}

func (h *haggler) Request(b []byte, slot int) ([]byte, int) {
	if h.slots = append(h.slots, slot); len(h.slots) == 1 {
		b = append(b, "1\n"...)
	}
	return b, 0
}

func (h *haggler) Answer(data []byte) (load.Answer, int, error) {
	if len(data) < 2 {
		return load.Answer{Slot: load.NoSlot}, 0, nil
	}
	if n := int(data[0] - '0'); !h.second && n == 1 {
		h.second, h.owed = true, 2
		return load.Answer{Slot: load.NoSlot}, 2, nil
	} else if !h.second || n != 2 {
		return load.Answer{}, 0, fmt.Errorf("%q came", data)
	}
	a := load.Answer{Slot: h.slots[0]}
	h.slots, h.second = h.slots[1:], false
	if len(h.slots) > 0 {
		h.owed = 1
	}
	*h.finished++
	return a, 2, nil
}

func (h *haggler) Next(b []byte) []byte {
	if h.owed > 0 {
		b = append(b, byte('0'+h.owed), '\n')
	}
	h.owed = 0
	return b
}

// An operation of several requests ends with the last of them, and operations that
// share a connection follow each other.
func TestTalker(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for in := bufio.NewScanner(conn); in.Scan(); {
					fmt.Fprintf(conn, "%s\n", in.Text())
				}
			}()
		}
	}()
	for _, window := range []int{1, 3} {
		loadtest.Calm(t, func() error {
			finished := 0
			r := loop(Run).run(t, load.Job{
				Stage: load.Stage{Length: loadtest.Short(200 * time.Millisecond), Interval: 10 * time.Millisecond}, Network: "tcp", Address: l.Addr().String(),
				Window:   window,
				Dialogue: func(int) load.Dialogue { return &haggler{finished: &finished} },
			})
			if r.errors > 0 || int(r.operations) > finished || finished > int(r.operations)+2*window {
				t.Errorf("window %d: %d operations, %d errors, %d finished", window, r.operations, r.errors, finished)
			}
			if r.operations < 20 {
				return fmt.Errorf("window %d: %d operations", window, r.operations)
			}
			return nil
		})
	}
}

// shopper asks for one thing after another, and rests after each tenth.
type shopper struct{ asked, rests *int }

func (s *shopper) Request(b []byte, _ int) ([]byte, int) { return append(b, "1\n"...), 0 }

func (s *shopper) Answer(data []byte) (load.Answer, int, error) {
	if len(data) < 2 {
		return load.Answer{Slot: load.NoSlot}, 0, nil
	}
	*s.asked++
	again := *s.asked%10 != 0
	if !again {
		*s.rests++
	}
	return load.Answer{Again: again}, 2, nil
}

// A user who goes on at once has no pause, and one who does not has.
func TestPauseAfterSomeOperations(t *testing.T) {
	loadtest.Calm(t, func() error {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			for in := bufio.NewScanner(conn); in.Scan(); {
				fmt.Fprintf(conn, "%s\n", in.Text())
			}
		}()
		asked, rests := 0, 0
		r := loop(Run).run(t, load.Job{
			Stage: load.Stage{Length: max(200*time.Millisecond, loadtest.Short(400*time.Millisecond)), Interval: 50 * time.Millisecond}, Network: "tcp", Address: l.Addr().String(),
			Think:    load.Think{Mean: 20 * time.Millisecond},
			Dialogue: func(int) load.Dialogue { return &shopper{&asked, &rests} },
		})
		if r.errors > 0 || rests > 20 || r.operations < 10*int64(rests) {
			t.Errorf("%d operations with %d rests of 20 ms in 400 ms, %d errors", r.operations, rests, r.errors)
		}
		if rests < 2 {
			return fmt.Errorf("%d operations with %d rests", r.operations, rests)
		}
		return nil
	})
}
