package report_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/browsertest"
	"plimsoll/internal/report"
)

// TestRender writes the reports of the fixtures, with pictures of them, to the
// folder PLIMSOLL_RENDER, to be looked at: all, or those that PLIMSOLL_RENDER_ONLY
// names. With PLIMSOLL_RENDER_FILE it takes pictures of that report instead.
func TestRender(t *testing.T) {
	dir := os.Getenv("PLIMSOLL_RENDER")
	if dir == "" {
		t.Skip("set PLIMSOLL_RENDER to a folder to write the reports of the fixtures there")
	}
	b := browsertest.Start(t)
	if file := os.Getenv("PLIMSOLL_RENDER_FILE"); file != "" {
		look(b, file, filepath.Join(dir, "file"))
		return
	}
	names := report.SortedKeys(fixtures())
	if only := os.Getenv("PLIMSOLL_RENDER_ONLY"); only != "" {
		names = strings.Split(only, ",")
	}
	for _, name := range names {
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
		look(b, filepath.Join(dir, name+".html"), filepath.Join(dir, name))
	}
}

// look takes pictures of a page as desktops, phones and printers show it.
func look(b *browsertest.Browser, file, prefix string) {
	for _, v := range []browsertest.View{{Width: 1280}, {Width: 1280, Dark: true}, {Width: 390}, {Width: 320, Dark: true}, {Width: 760, Print: true}} {
		b.Open(file, v)
		kind := ""
		if v.Dark {
			kind = "-dark"
		}
		if v.Print {
			kind = "-print"
		}
		b.Pictures(fmt.Sprintf("%s-%d%s", prefix, v.Width, kind), v, 1500, 0)
	}
}
