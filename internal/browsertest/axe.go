package browsertest

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
)

// views are a phone in the dark and a desktop in the light. No style depends on the width and the colours together.
var views = []View{{Width: 390, Dark: true}, {Width: 1280}}

// run runs the default rules of axe-core, the best practices among them, and returns a line for each element that breaks one. All details are
// open. Tables have their first rows only, and figures the first of their marks: what breaks a rule in the others does so in these, and minutes
// are saved.
const run = `(async () => {
	for (const d of document.querySelectorAll("details")) d.open = true;
	for (const t of document.querySelectorAll("tbody")) while (t.rows.length > 3) t.rows[3].remove();
	for (const g of document.querySelectorAll("svg, svg g")) for (const mark of [...g.children].filter(e => e.matches("path, rect, circle, line")).slice(5)) mark.remove();
	const found = await axe.run(document, {resultTypes: ["violations"]});
	return found.violations.flatMap(v => v.nodes.map(n => v.id + ": " + n.target.join(" ") + ": " + n.failureSummary.replace(/\s+/g, " ")));
})()`

// Violations lists what breaks a rule of axe-core in the page at an address, on a dark phone and on a light desktop. It leaves the page
// without most rows of its tables. The page may forbid scripts.
func (b *Browser) Violations(address string) (broken []string) {
	b.t.Helper()
	rules, err := axe()
	if err != nil {
		b.t.Fatalf("read axe-core, which ./setup test fetches: %v", err)
	}
	for _, v := range views {
		b.Visit(address, v)
		broken = append(broken, b.violations(rules, v)...)
	}
	return broken
}

// ViolationsOfFile is Violations of a file.
func (b *Browser) ViolationsOfFile(file string) []string {
	b.t.Helper()
	return b.Violations(b.address(file))
}

// violations runs the rules on the page that is open.
func (b *Browser) violations(rules string, v View) (broken []string) {
	b.t.Helper()
	var ready bool
	b.Eval(rules+"\n;true", &ready)
	b.Eval(run, &broken)
	for i := range broken {
		broken[i] = fmt.Sprintf("%d px, dark %t: %s", v.Width, v.Dark, broken[i])
	}
	return broken
}

// axe is the text of axe-core, which ./setup puts below the root of the module.
func axe() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			text, err := os.ReadFile(filepath.Join(dir, "bin", "axe.min.js"))
			return string(text), err
		}
	}
	return "", cmp.Or(err, errors.New("no go.mod above the folder of the test"))
}

// address is that of a file.
func (b *Browser) address(file string) string {
	b.t.Helper()
	path, err := filepath.Abs(file)
	if err != nil {
		b.t.Fatal(err)
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
