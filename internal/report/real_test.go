package report

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInBrowser opens every fixture in Chromium at the widths of a phone, a tablet
// and a desktop, light and dark: nothing may run over the edge, break the page's
// own policy, or leave the machine.
func TestInBrowser(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to open the reports in Chromium")
	}
	b := openBrowser(t)
	for _, name := range sortedKeys(fixtures()) {
		file := filepath.Join(t.TempDir(), name+".html")
		if err := os.WriteFile(file, []byte(pages[name]()), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, v := range []view{{width: 320}, {width: 390, dark: true}, {width: 768}, {width: 1280, dark: true}} {
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
	var over []string
	b.eval(`[...document.querySelectorAll("svg text")].filter(e => e.getClientRects().length).filter(e => {
		const r = e.getBoundingClientRect(), s = e.ownerSVGElement.getBoundingClientRect();
		return r.right > innerWidth + 1 || r.left < -1 || r.top < s.top - 1 || r.bottom > s.bottom + 1;
	}).map(e => e.textContent)`, &over)
	if len(over) > 0 {
		t.Errorf("%s at %d px: texts outside of their drawing: %q", name, v.width, over)
	}
	var touching []string
	b.eval(`[...document.querySelectorAll("svg")].filter(s => s.getClientRects().length).flatMap(s => {
		const all = [...s.querySelectorAll("text")].map(e => [e.textContent, e.getBoundingClientRect()]);
		return all.flatMap(([a, r], i) => all.slice(i + 1).filter(([, q]) =>
			Math.min(r.right, q.right) - Math.max(r.left, q.left) > 2 && Math.min(r.bottom, q.bottom) - Math.max(r.top, q.top) > 5).map(([c]) => a + " | " + c));
	})`, &touching)
	if len(touching) > 0 {
		t.Errorf("%s at %d px: texts upon each other: %q", name, v.width, touching)
	}
	var unseen int
	b.eval(`[...document.querySelectorAll(".wide svg, .narrow svg")].filter(e => e.getClientRects().length).length`, &unseen)
	if unseen == 0 {
		t.Errorf("%s at %d px shows no figure", name, v.width)
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
		t.Skip("set PLIMSOLL_REAL=1 to open the reports in Chromium")
	}
	b := openBrowser(t)
	file := filepath.Join(t.TempDir(), "bad.html")
	bad := strings.Replace(pages["small"](), "</main>", `<p style="width: 2000px">wide</p><pre>`+strings.Repeat("x", 400)+`</pre><table><tr><td>`+strings.Repeat("y", 400)+`</td></tr></table><script>1</script></main>`, 1)
	if err := os.WriteFile(file, []byte(bad), 0o644); err != nil {
		t.Fatal(err)
	}
	b.open(file, view{width: 390})
	fake := &testing.T{}
	b.holds(fake, "bad", view{width: 390})
	if !fake.Failed() {
		t.Error("a page that breaks its policy and runs over the edge was not noticed")
	}
	complaints := 0
	for _, e := range b.events {
		if e.Method == "Log.entryAdded" && strings.Contains(string(e.Params), "Content Security Policy") {
			complaints++
		}
	}
	if complaints < 2 {
		t.Errorf("%d breaches of the policy were heard, of a style and a script", complaints)
	}
}
