package report

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRender writes the fixtures where PLIMSOLL_RENDER says, to be looked at.
func TestRender(t *testing.T) {
	dir := os.Getenv("PLIMSOLL_RENDER")
	if dir == "" {
		t.Skip("set PLIMSOLL_RENDER to a folder to write the reports of the fixtures there")
	}
	for name := range fixtures() {
		in := rendered(t, name)
		for ending, write := range writers() {
			f, err := os.Create(filepath.Join(dir, name+ending))
			if err != nil {
				t.Fatal(err)
			}
			if err := write(f, in); err != nil {
				t.Fatal(err)
			}
			f.Close()
		}
	}
}
