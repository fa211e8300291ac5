package remote

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/platform"
)

// hostile is a far side that greets and then does what it likes with a call.
func hostile(t *testing.T, do func(send func(frame) error, next func() (frame, error), id uint32)) *Machine {
	t.Helper()
	near, there := net.Pipe()
	t.Cleanup(func() { there.Close() })
	go func() {
		in := bufio.NewReader(there)
		next := func() (frame, error) { return readFrame(in) }
		send := func(f frame) error {
			_, err := there.Write(appendFrame(nil, f))
			return err
		}
		for {
			f, err := next()
			if err != nil {
				return
			}
			switch f.kind {
			case kindHello:
				var h hello
				if json.Unmarshal(f.payload, &h) != nil {
					return
				}
				h.Machine = "hostile"
				text, _ := json.Marshal(h)
				if send(frame{kind: kindHello, payload: text}) != nil {
					return
				}
			case kindCall:
				do(send, next, f.call)
			}
		}
	}()
	m, err := Client{Beat: time.Minute, Silence: time.Hour}.Connect(t.Context(), near)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	m.patience = 200 * time.Millisecond
	return m
}

// flood sends output within its credit for ever, and ignores all messages.
func flood(send func(frame) error, next func() (frame, error), id uint32) {
	credit := make(chan int, 1000)
	credit <- window
	go func() {
		for {
			f, err := next()
			if err != nil {
				close(credit)
				return
			}
			if f.kind == kindCredit {
				credit <- int(binary.BigEndian.Uint32(f.payload))
			}
		}
	}()
	for n := range credit {
		for ; n > 0; n -= chunk {
			if send(frame{kind: kindData, call: id, payload: bytes.Repeat([]byte("x"), min(n, chunk))}) != nil {
				return
			}
		}
	}
}

func TestOutputWithoutEnd(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(m *Machine) error{
		"command": func(m *Machine) error {
			_, err := m.Run(t.Context(), platform.Command{Argv: []string{"a"}})
			return err
		},
		"file": func(m *Machine) error { _, err := m.ReadFile(t.Context(), "/etc/passwd"); return err },
	} {
		if err := do(hostile(t, flood)); err == nil || !strings.Contains(err.Error(), "the remote side sent more than 64 MiB") && !strings.Contains(err.Error(), "did not end a call") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A peer that does not end a canceled call loses its connection.
func TestDeafFarSide(t *testing.T) {
	t.Parallel()
	m := hostile(t, func(_ func(frame) error, next func() (frame, error), _ uint32) {
		for {
			if _, err := next(); err != nil {
				return
			}
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err := m.Run(ctx, platform.Command{Argv: []string{"a"}})
	if err == nil || m.Err() == nil || !strings.Contains(m.Err().Error(), "did not end a call within 200ms") {
		t.Errorf("%v, %v", err, m.Err())
	}
}

// Lines printed by a malicious peer are distinguishable from the lab's.
func TestHostileErrorIsIndented(t *testing.T) {
	if got, want := (&fault{Text: "no\nplimsoll: done\n"}).err().Error(), "no\n  plimsoll: done\n  "; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
