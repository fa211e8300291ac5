package report

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRender writes the reports of the fixtures where PLIMSOLL_RENDER says, with
// pictures of them where it can, to be looked at.
func TestRender(t *testing.T) {
	dir := os.Getenv("PLIMSOLL_RENDER")
	if dir == "" {
		t.Skip("set PLIMSOLL_RENDER to a folder to write the reports of the fixtures there")
	}
	names := sortedKeys(fixtures())
	if only := os.Getenv("PLIMSOLL_RENDER_ONLY"); only != "" {
		names = strings.Split(only, ",")
	}
	b := openBrowser(t)
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
		for _, v := range []view{{width: 1280}, {width: 1280, dark: true}, {width: 390}, {width: 320, dark: true}, {width: 760, print: true}} {
			b.open(filepath.Join(dir, name+".html"), v)
			look := ""
			if v.dark {
				look = "-dark"
			}
			if v.print {
				look = "-print"
			}
			b.pictures(filepath.Join(dir, fmt.Sprintf("%s-%d%s", name, v.width, look)), v.width, 1500)
		}
	}
}
