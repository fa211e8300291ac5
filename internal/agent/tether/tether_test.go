package tether

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

func lab(t *testing.T) *Lab {
	t.Helper()
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func ticket(t *testing.T, l *Lab, name string) Ticket {
	t.Helper()
	own, err := l.Admit(name)
	if err != nil {
		t.Fatal(err)
	}
	own.Lab = fmt.Sprintf("127.0.0.1:%d", l.Port())
	text, err := own.Format()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// Guests are told apart by their keys, whatever connects first.
func TestGuestsReachTheLab(t *testing.T) {
	l := lab(t)
	for _, name := range []string{"b", "a"} {
		own := ticket(t, l, name)
		go func() {
			conn, err := Dial(t.Context(), own)
			if err != nil {
				t.Error(err)
				return
			}
			fmt.Fprint(conn, "from "+name)
			_ = conn.Close()
		}()
	}
	for _, name := range []string{"a", "b"} {
		conn, err := l.Await(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(conn); err != nil || string(text) != "from "+name {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// accepted says whether the lab took a connection: in TLS 1.3 a guest learns of a refusal when it reads.
func accepted(t *testing.T, of Ticket) error {
	t.Helper()
	conn, err := Dial(t.Context(), of)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	_, err = conn.Read(make([]byte, 1))
	return err
}

func TestStrangersAreRefused(t *testing.T) {
	l, other := lab(t), lab(t)
	own := ticket(t, l, "web")

	forged := own
	forged.Key = ticket(t, other, "web").Key
	if err := accepted(t, forged); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a key of another lab: %v", err)
	}
	elsewhere := own
	elsewhere.Lab = fmt.Sprintf("127.0.0.1:%d", other.Port())
	if _, err := Dial(t.Context(), elsewhere); err == nil || !strings.Contains(err.Error(), "another key") {
		t.Errorf("another lab at the address: %v", err)
	}
	again := ticket(t, l, "web")
	if err := accepted(t, own); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a ticket that was replaced: %v", err)
	}
	if strings.Contains(accepted(t, elsewhere).Error(), string(own.Key)) {
		t.Error("the error has the key")
	}
	l.Dismiss("web")
	if err := accepted(t, again); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a guest that was dismissed: %v", err)
	}
	if _, err := l.Await(t.Context(), "web"); err == nil {
		t.Error("one waits for a guest that was dismissed")
	}
}

// A guest that gave up a connection, for which nobody has waited, is reached by its next one.
func TestTheLatestConnectionCounts(t *testing.T) {
	l := lab(t)
	own := ticket(t, l, "web")
	first, err := Dial(t.Context(), own)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	waitFor(t, l, "web")
	second, err := Dial(t.Context(), own)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if _, err := first.Read(make([]byte, 1)); err == nil { // it ends when the second has come
		t.Error("the first connection has an answer")
	}
	conn, err := l.Await(t.Context(), "web")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go fmt.Fprint(second, "2")
	b := make([]byte, 1)
	if _, err := io.ReadFull(conn, b); err != nil || b[0] != '2' {
		t.Errorf("%q, %v", b, err)
	}
	third, err := Dial(t.Context(), own)
	if err != nil {
		t.Fatal(err)
	}
	defer third.Close()
	waitFor(t, l, "web")
	l.Reset("web")
	if _, err := third.Read(b); err == nil {
		t.Error("a connection from before a boot has an answer")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Await(ctx, "web"); err == nil {
		t.Error("a connection from before a boot is used")
	}
}

func waitFor(t *testing.T, l *Lab, name string) {
	t.Helper()
	_, g, _ := l.find(l.guests[name].print)
	for len(g.came) == 0 {
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(time.Millisecond):
		}
	}
}

func TestWaiting(t *testing.T) {
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ticket(t, l, "web")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if _, err := l.Await(ctx, "web"); err == nil || !strings.Contains(err.Error(), "guest web did not connect") || !strings.Contains(err.Error(), "enough") {
		t.Error(err)
	}
	silent, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", l.Port()))
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if err := l.Close(); err != nil { // also while somebody does not finish a handshake
		t.Error(err)
	}
	if _, err := l.Await(t.Context(), "web"); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"name":"web-1","lab":"10.0.2.2:4223","lab_key":"` + strings.Repeat("ab", 32) + `","key":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=","address":"10.0.2.7/24","gateway":"10.0.2.2"}`)
	f.Add(`{"name":"web 1"}`)
	f.Add(`{"name":"web","lab":"lab:1"} {}`)
	f.Fuzz(func(t *testing.T, text string) {
		own, err := Parse([]byte(text))
		if err != nil {
			return
		}
		again, err := own.Format()
		if err != nil {
			t.Fatal(err)
		}
		if back, err := Parse(again); err != nil || back.Lab != own.Lab || string(back.Key) != string(own.Key) {
			t.Errorf("%s is %s, %v", text, again, err)
		}
	})
}
