package guest_test

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/guest/relay"
)

// silent fails if there is something to read.
func silent(t *testing.T, got <-chan string) {
	t.Helper()
	select {
	case text := <-got:
		t.Fatalf("it heard %q", text)
	case <-time.After(20 * time.Millisecond):
	}
}

// fiveBytes reads lines of five bytes.
func fiveBytes(r *relay.Guarded) <-chan string {
	all := make(chan string, 100)
	go func() {
		defer close(all)
		b := make([]byte, 5)
		for {
			for n := 0; n < len(b); {
				m, err := r.Read(b[n:])
				if err != nil {
					return
				}
				n += m
			}
			all <- string(b)
		}
	}()
	return all
}

// mark ends an epoch of a guest that has stopped.
func mark(t *testing.T, r *relay.Guarded) {
	t.Helper()
	if err := r.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.Mark(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.Resumed()
}

func commit(t *testing.T, r *relay.Guarded) {
	t.Helper()
	if err := r.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// What a guest says is heard with the commit after it. After a failover what it said since is forgotten, and it is told again what it was told
// since.
func TestAGuardedChannel(t *testing.T) {
	near, far := pair(t)
	r := relay.Guard(near)
	heard := fiveBytes(r)
	say(t, far, "one 1")
	if got := <-heard; got != "one 1" {
		t.Fatalf("heard %q", got)
	}
	say(t, r, "told0")
	hear(t, far, "told0")
	mark(t, r)
	say(t, far, "two 2")
	silent(t, heard)
	commit(t, r)
	silent(t, heard)
	mark(t, r)
	say(t, far, "three")
	commit(t, r)
	if got := <-heard; got != "two 2" {
		t.Fatalf("heard %q", got)
	}
	silent(t, heard)
	say(t, r, "told1")
	hear(t, far, "told1")
	mark(t, r) // never committed
	say(t, r, "told2")
	_ = far.Close()
	say(t, r, "told3") // nobody is there
	next, standby := pair(t)
	if err := r.Switch(next); err != nil {
		t.Fatal(err)
	}
	hear(t, standby, "told1told2told3")
	silent(t, heard)
	say(t, standby, "four4")
	if got := <-heard; got != "four4" {
		t.Errorf("heard %q", got)
	}
	say(t, r, "told4")
	hear(t, standby, "told4")
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, open := <-heard; open {
		t.Error("a closed channel says something")
	}
}

// Without protection a guarded channel is like any other.
func TestAGuardedChannelThatPasses(t *testing.T) {
	near, far := pair(t)
	r := relay.Guard(near)
	heard := fiveBytes(r)
	mark(t, r)
	say(t, far, "one 1")
	silent(t, heard)
	r.Pass()
	if got := <-heard; got != "one 1" {
		t.Errorf("heard %q", got)
	}
	_ = far.Close()
	if _, open := <-heard; open {
		t.Error("it hears something of a guest that is gone")
	}
	if _, err := r.Write([]byte("anyone")); err == nil || !strings.Contains(err.Error(), "closed its channel") {
		t.Errorf("a write to it: %v", err)
	}
}
