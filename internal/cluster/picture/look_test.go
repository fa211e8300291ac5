package picture

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/browsertest"
)

func names() []string {
	var out []string
	for name := range fixtures() {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// TestRender writes the pages of the fixtures and screenshots of them to the folder
// PLIMSOLL_RENDER: all, or those in PLIMSOLL_RENDER_ONLY.
func TestRender(t *testing.T) {
	dir := os.Getenv("PLIMSOLL_RENDER")
	if dir == "" {
		t.Skip("set PLIMSOLL_RENDER to a folder to write the pages of the fixtures there")
	}
	b := browsertest.Start(t)
	list := names()
	if only := os.Getenv("PLIMSOLL_RENDER_ONLY"); only != "" {
		list = strings.Split(only, ",")
	}
	for _, name := range list {
		file := filepath.Join(dir, name+".html")
		if err := os.WriteFile(file, []byte(render(t, fixtures()[name]())), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, v := range []browsertest.View{{Width: 1280}, {Width: 1280, Dark: true}, {Width: 400}} {
			b.Open(file, v)
			if v.Width > 1000 && !v.Dark {
				var focused bool
				b.Eval(`(() => { const all = document.querySelectorAll(".moves a"); if (all.length) all[all.length >> 1].focus({preventScroll: true}); return !!all.length })()`, &focused)
			}
			b.Pictures(fmt.Sprintf("%s-%d-%v", strings.TrimSuffix(file, ".html"), v.Width, v.Dark), v, 1700, 3)
		}
	}
}
