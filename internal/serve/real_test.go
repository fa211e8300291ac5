package serve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/browsertest"
	"plimsoll/internal/collect"
	"plimsoll/internal/history/historytest"
)

// faint lists texts with a contrast below 4.5, as WCAG 2.2 defines it in 1.4.3.
const faint = `[...document.querySelectorAll("header *, main *, footer *")].filter(e => !e.closest("svg") && e.getClientRects().length && [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())).map(e => {
	const numbers = c => c.match(/[\d.]+/g).map(Number);
	const light = c => { const [r, g, b] = c.slice(0, 3).map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
	let at = e, back = [0, 0, 0, 0];
	for (; at && back.length === 4 && back[3] === 0; at = at.parentElement) back = numbers(getComputedStyle(at).backgroundColor);
	const a = light(numbers(getComputedStyle(e).color)), b = light(back);
	return [(Math.max(a, b) + .05) / (Math.min(a, b) + .05), e.outerHTML.slice(0, 120)];
}).filter(([ratio]) => ratio < 4.5).map(([ratio, text]) => ratio.toFixed(2) + " " + text)`

// TestInBrowser opens every page in Chromium on a desktop and on a phone, light and dark.
func TestInBrowser(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to open the pages in Chromium")
	}
	s := newSite(t, nil)
	const evil = `<script>document.title="owned"</script><img src=http://evil.example/x onerror=alert(1)>` + "averyveryverylongwordwithoutanyplacetobreakitaveryveryverylongword"
	if err := historytest.Write(historytest.Run{
		Dir: filepath.Join(s.folder, `"><script>x`), Study: evil, Question: evil, Started: time.Now(), Trials: 1, Verdict: "better", Answer: evil, Ratio: 1.1,
		Testbed: collect.TestbedRecord{{Name: "cpu.model", Value: evil}, {Name: evil, Value: evil}}, Tags: []string{"keep"},
	}); err != nil {
		t.Fatal(err)
	}
	unlock := held(t, filepath.Join(s.folder, "held"), time.Now())
	defer unlock()
	a, b := s.id("a"), s.id("b")
	browser := browsertest.Start(t)
	for name, path := range map[string]string{
		"runs": "/", "filtered": "/?state=finished&sort=-trials", "none": "/?q=none", "report": "/run/" + a, "running": "/run/" + s.id("held"), "trial": "/run/" + a + "/trial/1",
		"compare": "/compare?a=" + a + "&b=" + b, "testbeds": "/testbeds", "missing": "/nowhere",
	} {
		for _, v := range []browsertest.View{{Width: 320}, {Width: 390, Dark: true}, {Width: 1280}, {Width: 1280, Dark: true}} {
			browser.Visit(s.url+path, v)
			shown(t, s, browser, name, v)
		}
		if name == "report" || name == "filtered" { // which has tests of its own, and is the list again
			continue
		}
		for _, violation := range browser.Violations(s.url + path) {
			t.Errorf("%s: %s", name, violation)
		}
	}
	walked(t, s, browser)
	asServed(t, s, browser)
}

// asServed opens the lists without scripts: they are as with them, and say that they stay as they are.
func asServed(t *testing.T, s *site, b *browsertest.Browser) {
	t.Helper()
	b.Scripts(false)
	defer b.Scripts(true)
	for path, want := range map[string]string{"/": "of 4 runs", "/testbeds": "Latest run", "/run/" + s.id("held"): "The run goes on"} {
		b.Visit(s.url+path, browsertest.View{Width: 390})
		var text string
		if b.Eval("document.body.innerText", &text); !strings.Contains(text, want) || !strings.Contains(text, "UTC. This page does not update by itself.") {
			t.Errorf("without scripts %s is: %s", path, text)
		}
	}
}

// shown checks the page that is open.
func shown(t *testing.T, s *site, b *browsertest.Browser, name string, v browsertest.View) {
	t.Helper()
	var width float64
	if b.Eval("document.documentElement.scrollWidth", &width); int(width) > v.Width {
		t.Errorf("%s at %d px is %v px wide", name, v.Width, width)
	}
	for _, complaint := range b.Complaints() {
		if !strings.HasPrefix(complaint, "it asks for "+s.url+"/") && !(name == "missing" && strings.Contains(complaint, "404")) {
			t.Errorf("%s at %d px: %s", name, v.Width, complaint)
		}
	}
	var title string
	if b.Eval("document.title", &title); !strings.Contains(title, "plimsoll") {
		t.Errorf("%s: the title is %q", name, title)
	}
	var scripts int
	if b.Eval("document.querySelectorAll('script, img, iframe').length", &scripts); scripts > 0 {
		t.Errorf("%s: %d elements of words", name, scripts)
	}
	if name == "report" {
		return // its own tests see to it
	}
	var pale []string
	if b.Eval(faint, &pale); len(pale) > 0 {
		t.Errorf("%s, dark %v: faint texts: %q", name, v.Dark, pale)
	}
	if roles := b.Unnamed(); len(roles) > 0 {
		t.Errorf("%s: without a name: %q", name, roles)
	}
	if dir := os.Getenv("PLIMSOLL_RENDER"); dir != "" {
		b.Pictures(filepath.Join(dir, name+map[bool]string{true: "-dark", false: ""}[v.Dark]+"-"+map[bool]string{true: "phone", false: "desktop"}[v.Width < 600]), v, 2000, 1)
	}
}

// walked filters and opens a report with the keyboard alone.
func walked(t *testing.T, s *site, b *browsertest.Browser) {
	t.Helper()
	b.Visit(s.url+"/", browsertest.View{Width: 1280})
	var all int
	b.Eval(`document.querySelectorAll("a[href], button, select, input, [tabindex='0']").length`, &all)
	seen := map[string]bool{}
	for range all + 5 {
		b.Press("Tab")
		var at struct {
			Path    string
			Outline string
			Body    bool
		}
		b.Eval(`(e => ({path: e.tagName + (e.id || e.getAttribute("href") || e.value || e.className), outline: getComputedStyle(e).outlineStyle, body: e === document.body}))(document.activeElement)`, &at)
		if at.Body {
			continue
		}
		seen[at.Path] = true
		if at.Outline == "none" {
			t.Errorf("the focus is not seen on %s", at.Path)
		}
	}
	for _, want := range []string{"INPUTf-q", "SELECTf-study", "SELECTf-state", "BUTTON", "A/run/" + s.id("a"), "A/testbeds", "A#content"} {
		if !seen[want] {
			t.Errorf("the keyboard does not reach %s, but %v", want, seen)
		}
	}
	b.Visit(s.url+"/", browsertest.View{Width: 1280})
	for range all {
		b.Press("Tab")
		var here bool
		if b.Eval(`document.activeElement.getAttribute("href") === "/run/`+s.id("a")+`"`, &here); here {
			break
		}
	}
	b.Press("Enter")
	var heading string
	if b.Eval(`document.querySelector("h1").textContent`, &heading); heading != "Does the knob raise the rate?" {
		t.Errorf("Enter leads to %q", heading)
	}
}
