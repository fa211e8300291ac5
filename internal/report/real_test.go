package report_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/browsertest"
	"plimsoll/internal/report"
)

// TestInBrowser opens every fixture in Chromium at the widths of a phone, a tablet
// and a desktop, light and dark: nothing may run over the edge, break the page's
// own policy, or leave the machine.
func TestInBrowser(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to open the reports in Chromium")
	}
	b := browsertest.Start(t)
	for _, name := range report.SortedKeys(fixtures()) {
		file := filepath.Join(t.TempDir(), name+".html")
		if err := os.WriteFile(file, []byte(pages[name]()), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, v := range []browsertest.View{{Width: 320}, {Width: 390, Dark: true}, {Width: 768}, {Width: 1280, Dark: true}} {
			b.Open(file, v)
			holds(t, b, name, v)
		}
		if name == "cluster" { // which has nearly all parts of a report; one takes a second per view
			for _, violation := range b.ViolationsOfFile(file) {
				t.Errorf("%s: %s", name, violation)
			}
		}
	}
}

// holds checks the page that is open.
func holds(t *testing.T, b *browsertest.Browser, name string, v browsertest.View) {
	t.Helper()
	var wide float64
	b.Eval("document.documentElement.scrollWidth", &wide)
	if int(wide) > v.Width {
		t.Errorf("%s at %d px is %v px wide", name, v.Width, wide)
	}
	var over []string
	b.Eval(`[...document.querySelectorAll("svg text")].filter(e => e.getClientRects().length).filter(e => {
		const r = e.getBoundingClientRect(), s = e.ownerSVGElement.getBoundingClientRect();
		return r.right > innerWidth + 1 || r.left < -1 || r.top < s.top - 1 || r.bottom > s.bottom + 1;
	}).map(e => e.textContent)`, &over)
	if len(over) > 0 {
		t.Errorf("%s at %d px: texts outside of their drawing: %q", name, v.Width, over)
	}
	var touching []string
	b.Eval(`[...document.querySelectorAll("svg")].filter(s => s.getClientRects().length).flatMap(s => {
		const all = [...s.querySelectorAll("text")].map(e => [e.textContent, e.getBoundingClientRect()]);
		return all.flatMap(([a, r], i) => all.slice(i + 1).filter(([, q]) =>
			Math.min(r.right, q.right) - Math.max(r.left, q.left) > 2 && Math.min(r.bottom, q.bottom) - Math.max(r.top, q.top) > 5).map(([c]) => a + " | " + c));
	})`, &touching)
	if len(touching) > 0 {
		t.Errorf("%s at %d px: texts upon each other: %q", name, v.Width, touching)
	}
	var cut []string // of the tables that nobody has to open
	b.Eval(`[...document.querySelectorAll(".arms, #certificate > .scroll")].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.ariaLabel)`, &cut)
	if len(cut) > 0 {
		t.Errorf("%s at %d px: tables cut off on the right: %q", name, v.Width, cut)
	}
	var unseen int
	b.Eval(`[...document.querySelectorAll(".wide svg, .narrow svg")].filter(e => e.getClientRects().length).length`, &unseen)
	if unseen == 0 {
		t.Errorf("%s at %d px shows no figure", name, v.Width)
	}
	for _, c := range b.Complaints() {
		t.Errorf("%s at %d px: %s", name, v.Width, c)
	}
}

// The gate above must notice a page that breaks its rules.
func TestBrowserNoticesBreaches(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to open the reports in Chromium")
	}
	b := browsertest.Start(t)
	file := filepath.Join(t.TempDir(), "bad.html")
	bad := strings.Replace(pages["small"](), "</main>", `<p style="width: 2000px">wide</p><pre>`+strings.Repeat("x", 400)+`</pre><table><tr><td>`+strings.Repeat("y", 400)+`</td></tr></table><script>1</script></main>`, 1)
	if err := os.WriteFile(file, []byte(bad), 0o644); err != nil {
		t.Fatal(err)
	}
	b.Open(file, browsertest.View{Width: 390})
	fake := &testing.T{}
	holds(fake, b, "bad", browsertest.View{Width: 390})
	if !fake.Failed() {
		t.Error("a page that breaks its policy and runs over the edge was not noticed")
	}
	complaints := 0
	for _, c := range b.Complaints() {
		if strings.Contains(c, "Content Security Policy") {
			complaints++
		}
	}
	if complaints < 2 {
		t.Errorf("%d breaches of the policy were heard, of a style and a script", complaints)
	}
	text := `<!DOCTYPE html><html><title>bad</title><main><h1>bad</h1><details><summary>more</summary><button></button></details><table><tr><th>a<td>b</table>` +
		`<p style="color: #aaa; background: #fff">faint</p><p id="twice"><label for="twice"></label><p id="twice"><h4>deep</h4></main>`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	violations := strings.Join(b.ViolationsOfFile(file), "\n")
	for _, rule := range []string{"html-has-lang", "button-name", "color-contrast", "heading-order"} {
		if n := strings.Count(violations, rule+": "); n != 2 {
			t.Errorf("axe-core sees a breach of %s in %d of 2 views: %s", rule, n, violations)
		}
	}
}
