package progress

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/internal/console"
	"plimsoll/internal/platform"
)

// An entry of the log is one line, whatever a server or an agent says.
func TestLogEntriesAreLines(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	ctx, done, err := Options{Screen: &cli.Screen{Err: console.NewWriter(io.Discard)}, Log: name}.logging(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	platform.LogWrite(ctx, platform.Write{Machine: "far", Name: "/a", Err: errors.New("no\n2026-01-01T00:00:00.000Z far: run rm\x1b[2J")})
	if err := done(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if want := `(failed: no\n2026-01-01T00:00:00.000Z far: run rm\u001b[2J)` + "\n"; !strings.HasSuffix(string(text), want) || strings.Count(string(text), "\n") != 1 {
		t.Errorf("%q", text)
	}
}
