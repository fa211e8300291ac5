package engine

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/wire"
)

// A server that cannot be asked ends the asking, in one line.
func TestGather(t *testing.T) {
	away := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("it is away") }
	all := []Server{{Protocol: PostgreSQL, Target: wire.Target{Network: "tcp", Address: "a:1", Connect: away}}}
	_, err := gather(t.Context(), all, "d", func(context.Context, Conn) (int, error) { return 1, nil })
	if err == nil || !strings.Contains(err.Error(), "it is away") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
	if answers, err := gather(t.Context(), nil, "d", func(context.Context, Conn) (int, error) { return 1, nil }); err != nil || len(answers) != 0 {
		t.Errorf("nobody answers %v, %v", answers, err)
	}
}

// A server that is away is waited for where somebody else may start it again, and only for
// so long; one that plimsoll started is not.
func TestAwait(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := Server{Protocol: PostgreSQL, Target: wire.Target{Network: "tcp", Address: l.Addr().String()}}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	const longest = 300 * time.Millisecond
	began := time.Now()
	if err := at.await(t.Context(), longest); err == nil || !strings.Contains(err.Error(), "did not recover within 300ms, so acknowledged writes are not verified") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took < longest {
		t.Errorf("it was waited for %s", took)
	}
	at.Private = true
	if err := at.await(t.Context(), time.Hour); err == nil || strings.Contains(err.Error(), "come back") {
		t.Errorf("got %v", err)
	}
}
