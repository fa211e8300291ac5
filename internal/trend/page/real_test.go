package page_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/browsertest"
	"plimsoll/internal/trend"
)

// In Chromium, at the widths of a phone, a tablet and a desktop, nothing runs over the edge or breaks the policy of the page, and labels do not
// touch.
func TestInBrowser(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to open the page in Chromium")
	}
	b := browsertest.Start(t)
	for _, runs := range []int{1, 14, 40, 300} {
		of := made(runs)
		if runs == 300 { // the name of an arm that has no space to break at
			of.Series[0].Lines[0].Arm = "storage.depth=" + fmt.Sprint(1<<62) + "_" + fmt.Sprint(1<<62)
		}
		file := filepath.Join(t.TempDir(), "trend.html")
		if err := os.WriteFile(file, []byte(written(t, of)), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, v := range []browsertest.View{{Width: 320}, {Width: 390, Dark: true}, {Width: 768}, {Width: 1280, Dark: true}} {
			b.Open(file, v)
			holds(t, b, of, v)
		}
		if runs != 40 { // the others differ in length alone
			continue
		}
		for _, violation := range b.ViolationsOfFile(file) {
			t.Errorf("%d runs: %s", runs, violation)
		}
	}
}

// holds checks the page that is open.
func holds(t *testing.T, b *browsertest.Browser, of *trend.Trend, v browsertest.View) {
	t.Helper()
	runs := len(of.Series[0].Runs)
	var wide float64
	b.Eval("document.documentElement.scrollWidth", &wide)
	if int(wide) > v.Width {
		t.Errorf("%d runs at %d px: %v px wide", runs, v.Width, wide)
	}
	var touching []string
	b.Eval(`[...document.querySelectorAll("svg")].filter(s => s.getClientRects().length).flatMap(s => {
		const all = [...s.querySelectorAll("text")].map(e => [e.textContent, e.getBoundingClientRect()]);
		return all.flatMap(([a, r], i) => all.slice(i + 1).filter(([, q]) =>
			Math.min(r.right, q.right) - Math.max(r.left, q.left) > 2 && Math.min(r.bottom, q.bottom) - Math.max(r.top, q.top) > 5).map(([c]) => a + " | " + c));
	})`, &touching)
	if len(touching) > 0 {
		t.Errorf("%d runs at %d px: texts upon each other: %q", runs, v.Width, touching)
	}
	var seen int
	b.Eval(`[...document.querySelectorAll(".wide svg, .narrow svg")].filter(e => e.getClientRects().length).length`, &seen)
	if seen != len(of.Series[0].Lines) {
		t.Errorf("%d runs at %d px: %d figures, want %d", runs, v.Width, seen, len(of.Series[0].Lines))
	}
	for _, c := range b.Complaints() {
		t.Errorf("%d runs at %d px: %s", runs, v.Width, c)
	}
}
