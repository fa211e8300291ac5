package workloadtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
)

// Trace writes a trace of operations that are evenly spaced, and returns it as the
// setting of a workload names it.
func Trace(t *testing.T, count int, gap time.Duration) string {
	t.Helper()
	text := &strings.Builder{}
	for i := range count {
		fmt.Fprintf(text, "%.9f\n", (time.Duration(i) * gap).Seconds())
	}
	path := filepath.Join(t.TempDir(), "trace.txt")
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	f, _, err := load.FindTrace(path)
	if err != nil {
		t.Fatal(err)
	}
	return f.String()
}
