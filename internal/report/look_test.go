package report

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRender writes the reports of the fixtures, with pictures of them, to the
// folder PLIMSOLL_RENDER, to be looked at: all, or those that PLIMSOLL_RENDER_ONLY
// names. With PLIMSOLL_RENDER_FILE it takes pictures of that report instead.
func TestRender(t *testing.T) {
	dir := os.Getenv("PLIMSOLL_RENDER")
	if dir == "" {
		t.Skip("set PLIMSOLL_RENDER to a folder to write the reports of the fixtures there")
	}
	b := openBrowser(t)
	if file := os.Getenv("PLIMSOLL_RENDER_FILE"); file != "" {
		look(b, file, filepath.Join(dir, "file"))
		return
	}
	names := sortedKeys(fixtures())
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
func look(b *browser, file, prefix string) {
	for _, v := range []view{{width: 1280}, {width: 1280, dark: true}, {width: 390}, {width: 320, dark: true}, {width: 760, print: true}} {
		b.open(file, v)
		kind := ""
		if v.dark {
			kind = "-dark"
		}
		if v.print {
			kind = "-print"
		}
		b.pictures(fmt.Sprintf("%s-%d%s", prefix, v.width, kind), v.width, 1500)
	}
}
