package engine

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"plimsoll/internal/postgres"
)

// A server that cannot be asked ends the asking, in one line.
func TestGather(t *testing.T) {
	away := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("it is away") }
	all := []Server{{Protocol: PostgreSQL, Place: postgres.Place{Network: "tcp", Address: "a:1", Connect: away}}}
	_, err := Gather(t.Context(), all, "d", func(context.Context, Conn) (int, error) { return 1, nil })
	if err == nil || !strings.Contains(err.Error(), "it is away") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
	if answers, err := Gather(t.Context(), nil, "d", func(context.Context, Conn) (int, error) { return 1, nil }); err != nil || len(answers) != 0 {
		t.Errorf("nobody answers %v, %v", answers, err)
	}
}
