package vswitch

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// guarded is a plug with one connection, that of the VM, at a switch with another station.
func guarded(t *testing.T) (p *Plug, vm net.Conn, other *station) {
	t.Helper()
	s := New(Options{})
	t.Cleanup(s.Close)
	other = connect(t, s, "other")
	p, err := s.Plug(t.Context(), "vm", filepath.Join(t.TempDir(), "vm"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Pull(); err != nil {
			t.Error(err)
		}
	})
	return p, join(t, p, 1), other
}

// join connects to a plug, and waits until it has so many ports.
func join(t *testing.T, p *Plug, ports int) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", p.Socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	until(t, func() bool { return len(p.ports()) == ports })
	return c
}

func (p *Plug) heldBytes() int {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	return len(p.gate.held)
}

// sends sends a frame to all, and waits until the gate holds so many frames of that size.
func sends(t *testing.T, p *Plug, vm net.Conn, payload string, held int) {
	t.Helper()
	f := frame(0xffffffffffff, 0x525400000001, payload)
	if err := (&station{conn: vm}).send(f); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return p.heldBytes() == held*(len(f)+prefix) })
}

// gets waits for a frame with each of some payloads, and for no other.
func gets(t *testing.T, st *station, want ...string) {
	t.Helper()
	var got []string
	until(t, func() bool {
		for _, f := range st.taken() {
			got = append(got, string(f[ShortestFrame:]))
		}
		return len(got) >= len(want)
	})
	for i, g := range got {
		if i >= len(want) || g != want[i] {
			t.Fatalf("it got %q, want %q", got, want)
		}
	}
}

// A frame leaves with the release after the mark after it.
func TestFramesWaitForTheRelease(t *testing.T) {
	p, vm, other := guarded(t)
	sends(t, p, vm, "0", 0)
	gets(t, other, "0")
	p.Mark()
	sends(t, p, vm, "1", 1)
	p.Release() // of what was before the mark
	sends(t, p, vm, "2", 2)
	p.Mark()
	sends(t, p, vm, "3", 3)
	if got := other.taken(); len(got) > 0 {
		t.Errorf("it got %q before the release", got)
	}
	p.Release()
	gets(t, other, "1", "2")
	if p.Release(); p.heldBytes() == 0 {
		t.Error("a release without a mark let a frame go")
	}
	p.Pass()
	sends(t, p, vm, "4", 0)
	gets(t, other, "3", "4")
}

// A standby gets nothing, until it takes over: what the VM sent after the last mark is lost then, what it got after it comes again, and the VM is
// where the standby is.
func TestAStandbyTakesOver(t *testing.T) {
	p, vm, other := guarded(t)
	p.Second()
	second := join(t, p, 2)
	p.Mark()
	sends(t, p, vm, "1", 1)
	p.Mark()
	p.Release()
	gets(t, other, "1")
	sends(t, p, vm, "1b", 1)
	if err := other.send(frame(0x525400000001, 0x525400000002, "to the vm")); err != nil {
		t.Fatal(err)
	}
	first := &station{conn: vm}
	go first.listen()
	gets(t, first, "to the vm")
	p.Mark()
	p.Release()
	if err := other.send(frame(0x525400000001, 0x525400000002, "unknown")); err != nil {
		t.Fatal(err)
	}
	gets(t, first, "unknown")
	sends(t, p, vm, "2", 1)
	if err := vm.Close(); err != nil {
		t.Fatal(err)
	}
	p.Switch()
	p.Pass()
	if n := len(p.ports()); n != 1 {
		t.Errorf("there are %d ports", n)
	}
	then := &station{conn: second}
	go then.listen()
	gets(t, then, "unknown") // to the checkpoint that it goes on at
	sends(t, p, second, "3", 0)
	gets(t, other, "1b", "3")
	if err := other.send(frame(0x525400000001, 0x525400000002, "again")); err != nil {
		t.Fatal(err)
	}
	gets(t, then, "again") // and not what the first one got
}

// A full gate has the VM wait, and loses nothing.
func TestAFullGate(t *testing.T) {
	p, vm, _ := guarded(t)
	const most = 1 << 20
	p.gate.most = most
	p.Mark()
	f := frame(0xffffffffffff, 0x525400000001, string(make([]byte, 60_000)))
	sender := &station{conn: vm}
	sent := 0
	for {
		if err := vm.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		if err := sender.send(f); errors.Is(err, os.ErrDeadlineExceeded) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if sent++; sent*len(f) > 4*most {
			t.Fatal("the gate takes frames without end")
		}
	}
	if held := p.heldBytes(); held < most || held > most+LongestFrame+prefix {
		t.Errorf("it holds %d bytes", held)
	}
	p.Mark()
	p.Release()
	until(t, func() bool { return p.heldBytes() > 0 && p.heldBytes() < most })
}

// Two protected VMs that send to each other at once do not wait for each other.
func TestTwoGates(t *testing.T) {
	s := New(Options{})
	t.Cleanup(s.Close)
	var all sync.WaitGroup
	for i := range 2 {
		p, err := s.Plug(t.Context(), fmt.Sprint("vm", i), filepath.Join(t.TempDir(), "vm"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Pull() })
		vm := join(t, p, 1)
		go func() { _, _ = io.Copy(io.Discard, vm) }()
		all.Go(func() {
			f := frame(0xffffffffffff, address(0x525400000001+i), "to the other")
			for range 2000 {
				if err := (&station{conn: vm}).send(f, f); err != nil {
					t.Error(err)
					return
				}
				p.Mark()
				p.Release()
			}
			p.Pass()
		})
	}
	all.Wait()
}
