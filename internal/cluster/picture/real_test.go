package picture

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInBrowser opens every fixture in Chromium at the widths of a phone and a desktop,
// light and dark: nothing may run over the edge, break the page's own policy, or leave
// the machine.
func TestInBrowser(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to open the pages in Chromium")
	}
	b := openBrowser(t)
	for _, name := range names() {
		file := filepath.Join(t.TempDir(), name+".html")
		if err := os.WriteFile(file, []byte(render(t, fixtures()[name]())), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, v := range []view{{width: 400}, {width: 1280, dark: true}} {
			b.open(file, v)
			b.holds(t, name, v)
		}
	}
}

// holds checks the page that is open.
func (b *browser) holds(t *testing.T, name string, v view) {
	t.Helper()
	var wide float64
	b.eval("document.documentElement.scrollWidth", &wide)
	if int(wide) > v.width {
		t.Errorf("%s at %d px is %v px wide", name, v.width, wide)
	}
	var off []string
	b.eval(`(() => {
		const svg = document.querySelector(".moves"), rows = document.querySelector(".rows");
		if (!svg) return [];
		const top = svg.getBoundingClientRect().top, all = [...rows.children].map(e => e.getBoundingClientRect());
		const out = Math.abs(svg.getBoundingClientRect().height - rows.getBoundingClientRect().height) > 1 ? ["arrows and rows differ in height"] : [];
		for (const e of svg.querySelectorAll(".bead")) {
			const r = e.getBoundingClientRect(), y = (r.top + r.bottom) / 2;
			if (!all.some(q => q.top <= y && y <= q.bottom)) out.push("a bead beside no host");
		}
		return out;
	})()`, &off)
	if len(off) > 0 {
		t.Errorf("%s at %d px: %q", name, v.width, off)
	}
	var touching []string
	b.eval(`(() => {
		const all = [...document.querySelectorAll(".axis text, .moves text, .host b, .meter span")].filter(e => e.getClientRects().length).map(e => [e.textContent, e.getBoundingClientRect()]);
		return all.flatMap(([a, r], i) => all.slice(i + 1).filter(([, q]) =>
			Math.min(r.right, q.right) - Math.max(r.left, q.left) > 2 && Math.min(r.bottom, q.bottom) - Math.max(r.top, q.top) > 5).map(([c]) => a + " | " + c));
	})()`, &touching)
	if len(touching) > 0 {
		t.Errorf("%s at %d px: texts upon each other: %q", name, v.width, touching)
	}
	var bars int
	b.eval(`[...document.querySelectorAll(".now")].filter(e => e.getBoundingClientRect().width > 1 && e.getBoundingClientRect().height > 4).length`, &bars)
	if bars < 3 {
		t.Errorf("%s at %d px shows %d bars", name, v.width, bars)
	}
	for _, e := range b.events {
		switch e.Method {
		case "Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled":
			t.Errorf("%s at %d px: the browser complains: %s", name, v.width, e.Params)
		case "Network.requestWillBeSent":
			var p struct{ Request struct{ URL string } }
			if err := json.Unmarshal(e.Params, &p); err != nil {
				t.Fatal(err)
			}
			if u := p.Request.URL; !strings.HasPrefix(u, "file://") && !strings.HasPrefix(u, "data:") {
				t.Errorf("%s at %d px asks for %s", name, v.width, u)
			}
		}
	}
}

// The gate above must notice a page that breaks its rules.
func TestBrowserNoticesBreaches(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to open the pages in Chromium")
	}
	b := openBrowser(t)
	for _, breach := range []string{`<p style="width: 2000px">wide</p>`, `<script>1</script>`, `<pre>` + strings.Repeat("x", 400) + `</pre>`} {
		file := filepath.Join(t.TempDir(), "bad.html")
		if err := os.WriteFile(file, []byte(strings.Replace(render(t, small()), "</main>", breach+"</main>", 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		b.open(file, view{width: 400})
		fake := &testing.T{}
		b.holds(fake, "bad", view{width: 400})
		if !fake.Failed() {
			t.Errorf("the breach %.40q was not noticed", breach)
		}
	}
}
