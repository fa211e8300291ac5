package picture

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/browsertest"
)

// TestInBrowser opens every fixture in Chromium at the widths of a phone, a tablet and a
// desktop, light and dark: nothing may overflow, violate the page's content policy, or access
// the network.
func TestInBrowser(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to open the pages in Chromium")
	}
	b := browsertest.Start(t)
	for _, name := range names() {
		file := filepath.Join(t.TempDir(), name+".html")
		if err := os.WriteFile(file, []byte(render(t, fixtures()[name]())), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, v := range []browsertest.View{{Width: 400}, {Width: 940}, {Width: 1280, Dark: true}} {
			b.Open(file, v)
			holds(t, b, name, v)
		}
		if name != "lab" { // the others differ in size alone
			continue
		}
		for _, barrier := range b.ViolationsOfFile(file) {
			t.Errorf("%s: %s", name, barrier)
		}
	}
}

// holds checks the open page.
func holds(t *testing.T, b *browsertest.Browser, name string, v browsertest.View) {
	t.Helper()
	var wide float64
	b.Eval("document.documentElement.scrollWidth", &wide)
	if int(wide) > v.Width {
		t.Errorf("%s at %d px is %v px wide", name, v.Width, wide)
	}
	var cut []string
	b.Eval(`[...document.querySelectorAll("#pools .scroll")].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.ariaLabel)`, &cut)
	if len(cut) > 0 {
		t.Errorf("%s at %d px: tables cut off on the right: %q", name, v.Width, cut)
	}
	var off []string
	b.Eval(`(() => {
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
		t.Errorf("%s at %d px: %q", name, v.Width, off)
	}
	var touching []string
	b.Eval(`(() => {
		const all = [...document.querySelectorAll(".axis text, .moves text, .host b, .meter span")].filter(e => e.getClientRects().length).map(e => [e.textContent, e.getBoundingClientRect()]);
		return all.flatMap(([a, r], i) => all.slice(i + 1).filter(([, q]) =>
			Math.min(r.right, q.right) - Math.max(r.left, q.left) > 2 && Math.min(r.bottom, q.bottom) - Math.max(r.top, q.top) > 5).map(([c]) => a + " | " + c));
	})()`, &touching)
	if len(touching) > 0 {
		t.Errorf("%s at %d px: texts upon each other: %q", name, v.Width, touching)
	}
	var bars int
	b.Eval(`[...document.querySelectorAll(".now")].filter(e => e.getBoundingClientRect().width > 1 && e.getBoundingClientRect().height > 4).length`, &bars)
	if bars < 3 {
		t.Errorf("%s at %d px shows %d bars", name, v.Width, bars)
	}
	for _, c := range b.Complaints() {
		t.Errorf("%s at %d px: %s", name, v.Width, c)
	}
}

// The check above detects invalid pages.
func TestBrowserNoticesBreaches(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to open the pages in Chromium")
	}
	b := browsertest.Start(t)
	for _, breach := range []string{`<p style="width: 2000px">wide</p>`, `<script>1</script>`, `<pre>` + strings.Repeat("x", 400) + `</pre>`} {
		file := filepath.Join(t.TempDir(), "bad.html")
		if err := os.WriteFile(file, []byte(strings.Replace(render(t, small()), "</main>", breach+"</main>", 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		b.Open(file, browsertest.View{Width: 400})
		fake := &testing.T{}
		holds(fake, b, "bad", browsertest.View{Width: 400})
		if !fake.Failed() {
			t.Errorf("the breach %.40q was not noticed", breach)
		}
	}
}
