package guest_test

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"plimsoll/internal/guest/relay"
)

// pair is a connection with its far end.
func pair(t *testing.T) (near, far net.Conn) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // the connection is made
	if near, err = net.Dial("unix", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if far, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	return near, far
}

func say(t *testing.T, w io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, r io.Reader, want string) {
	t.Helper()
	b := make([]byte, len(want))
	if _, err := io.ReadFull(r, b); err != nil || string(b) != want {
		t.Fatalf("heard %q, %v; want %q", b, err, want)
	}
}

// Data sent before, during and after a migration arrives once and in order.
func TestARelayLosesNothing(t *testing.T) {
	near, old := pair(t)
	next, moved := pair(t)
	r := relay.New(near)
	say(t, r, "before ")
	held := make(chan error, 1)
	go func() { held <- r.Hold(t.Context()) }()
	select {
	case err := <-held:
		t.Fatal("it did not wait until everything was heard: ", err)
	case <-time.After(20 * time.Millisecond):
	}
	hear(t, old, "before ")
	if err := <-held; err != nil {
		t.Fatal(err)
	}
	wrote := make(chan struct{})
	go func() { defer close(wrote); _, _ = r.Write([]byte("meanwhile ")) }()
	select {
	case <-wrote:
		t.Fatal("it wrote while the guest moved")
	case <-time.After(20 * time.Millisecond):
	}
	say(t, moved, "from the new place")
	say(t, old, "from the old place, ")
	r.Release(next)
	<-wrote
	hear(t, moved, "meanwhile ")
	say(t, r, "after")
	hear(t, moved, "after")
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	hear(t, r, "from the old place, from the new place")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(make([]byte, 1)); err == nil {
		t.Error("a relay that was closed is read")
	}
}

func TestARelayWhoseGuestDoesNotMove(t *testing.T) {
	near, far := pair(t)
	r := relay.New(near)
	if err := r.Hold(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.Release(nil)
	say(t, r, "on")
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	if err := r.Hold(ctx); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	say(t, r, "ward")
	hear(t, far, "onward")
	if err := far.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(make([]byte, 1)); err == nil {
		t.Error("the end of the guest is no end")
	}
}
