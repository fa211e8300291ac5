package dataset

import (
	"context"
	"strings"
	"testing"

	"plimsoll/internal/postgres"
)

// Where nobody listens, one line says so and nothing waits; the databases themselves are
// tested by the loads that have them, with a real server.
func TestNobodyListens(t *testing.T) {
	d := Set{Name: "x", Note: "1", Reset: true, Loaders: 3}
	at := postgres.Place{Network: "tcp", Address: "127.0.0.1:1", User: "x", Database: "y"}
	never := func(context.Context, *postgres.Conn) error { t.Error("a job is done without a session"); return nil }
	jobs := make([]Job, 100)
	for i := range jobs {
		jobs[i] = never
	}
	for what, do := range map[string]func() error{
		"prepare":  func() error { return d.Prepare(t.Context(), at) },
		"remove":   func() error { return d.Remove(t.Context(), at) },
		"together": func() error { return d.together(t.Context(), at, "x", jobs) },
	} {
		if err := do(); err == nil || !strings.Contains(err.Error(), "nothing listens there") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := d.together(t.Context(), at, "x", nil); err != nil {
		t.Errorf("nothing to do: %v", err)
	}
}
