package main

import (
	"cmp"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"plimsoll/internal/catalog"
	"plimsoll/internal/catalog/manual"
	"plimsoll/internal/diagnosis"
	"plimsoll/internal/diagnosis/rule"
	"plimsoll/internal/measure"
	"plimsoll/internal/measure/foreign/formats"
	"plimsoll/internal/parameter"
	"plimsoll/internal/study"
)

var update = flag.Bool("update", false, "write the generated tables of docs and golden files anew")

// A generated table stands between two comments, of which the first names it.
var generated = regexp.MustCompile(`(?ms)^<!-- generated: (\w+) (.*?) -->\n(.*?)^<!-- end -->$`)

// The tables of settings, metrics and levels in docs are those of the catalog.
func TestDocs(t *testing.T) {
	c := catalog.All()
	seen := map[string]bool{}
	err := filepath.WalkDir(docs, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		return compareTables(t, c, path, seen)
	})
	if err != nil {
		t.Fatal(err)
	}
	names := tables(c)
	for _, f := range c.Factors {
		if prefix, _, _ := strings.Cut(f.Name, "."); !seen["levels "+prefix+"."] {
			names = append(names, "factor "+f.Name)
		}
	}
	for _, name := range names {
		if !seen[name] {
			t.Errorf("no page in docs has a line \"<!-- generated: %s -->\" with \"<!-- end -->\" below it", name)
		}
	}
}

// compareTables compares the generated tables of a page with the catalog, or writes them.
func compareTables(t *testing.T, c *study.Catalog, path string, seen map[string]bool) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	page := generated.ReplaceAllStringFunc(string(text), func(block string) string {
		found := generated.FindStringSubmatch(block)
		kind, name, got := found[1], found[2], found[3]
		want := tableOf(c, kind, name)
		seen[kind+" "+name] = true
		switch {
		case want == "":
			t.Errorf("%s: the catalog has no %s of %q", path, kind, name)
			return block
		case !*update && got != want:
			t.Errorf("%s differs from the catalog; go test ./internal/catalog -update writes it anew (- docs, + catalog):\n%s",
				path, gocmp.Diff(got, want))
		}
		return fmt.Sprintf("<!-- generated: %s %s -->\n%s<!-- end -->", kind, name, want)
	})
	if *update && page != string(text) {
		return os.WriteFile(path, []byte(page), 0o644)
	}
	return nil
}

// tables names the tables that docs must have.
func tables(c *study.Catalog) []string {
	names := []string{"candidates all", "rules all", "holds all", "formats all", "metrics energy"}
	for _, p := range manual.Pages(c) {
		if len(p.Fields) > 0 {
			names = append(names, "settings "+titled(c, p))
		}
		if len(p.Metrics) > 0 {
			names = append(names, "metrics "+p.Name)
		}
	}
	return names
}

// titled is the name of a table of settings. A platform that shares its name with something else is
// told apart.
func titled(c *study.Catalog, p manual.Page) string {
	if p.Kind != "platform" {
		return p.Name
	}
	for _, other := range manual.Pages(c) {
		if other.Kind != p.Kind && other.Name == p.Name && len(other.Fields) > 0 {
			return p.Kind + " " + p.Name
		}
	}
	return p.Name
}

// tableOf is a table in Markdown: the settings or metrics of one page of the manual, one
// factor, or the levels of all factors with a common prefix. It is "" where there is nothing.
func tableOf(c *study.Catalog, kind, name string) string {
	var rows []string
	for _, p := range manual.Pages(c) {
		if kind == "settings" && titled(c, p) == name {
			rows = append(rows, settingRows(p.Fields)...)
		}
		if kind == "metrics" && p.Name == name {
			rows = append(rows, metricRows(p.Metrics)...)
		}
	}
	if kind == "metrics" && name == "energy" {
		rows = metricRows(measure.EnergyMetrics(false))
	}
	switch kind {
	case "candidates":
		rows = candidateRows(c)
	case "rules":
		rows = ruleRows()
	case "holds":
		rows = holdRows(c)
	case "formats":
		rows = formatRows()
	}
	for _, f := range c.Factors {
		levels := strings.Join(f.Example, "`, `")
		if kind == "levels" && strings.HasPrefix(f.Name, name) {
			rows = append(rows, fmt.Sprintf("| `%s` | `%s` | %s |\n", f.Name, levels, cell(f.Doc)))
		}
		if kind == "factor" && f.Name == name {
			privileges := map[bool]string{true: "root", false: "none"}[f.Root]
			rows = append(rows, fmt.Sprintf("| %s | %s | `%s` | %s |\n", cell(f.Doc), cmp.Or(f.Target, "none"), levels, privileges))
		}
	}
	if len(rows) == 0 {
		return ""
	}
	head := map[string]string{
		"candidates": "| of | setting | levels | expected |\n|---|---|---|---|\n",
		"settings":   "| setting | default | meaning |\n|---|---|---|\n",
		"metrics":    "| metric | unit | better | meaning |\n|---|---|---|---|\n",
		"levels":     "| factor | levels, such as | meaning |\n|---|---|---|\n",
		"holds":      "| counters | held by |\n|---|---|\n",
		"rules":      "| area | rule | finds that | needs |\n|---|---|---|---|\n",
		"factor":     "| effect | target | levels, such as | privileges |\n|---|---|---|---|\n",
	}
	return head[kind] + strings.Join(rows, "")
}

// formatRows are the formats that import reads, as paragraphs: what they cannot carry is too long for a table.
func formatRows() (rows []string) {
	for _, f := range formats.All(formats.Options{}) {
		kind := ""
		if f.Counters {
			kind = " Counters of a machine."
		}
		rows = append(rows, fmt.Sprintf("\n### %s\n\n%s\n", f.Name, folded("From "+f.Doc+"."+kind)), "\n"+folded("Not in the files: "+f.Absent)+"\n")
	}
	return append(rows, "\n")
}

// folded breaks a text into lines.
func folded(text string) string {
	const width = 118
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return strings.Join(append(lines, line), "\n")
}

// candidateRows are the settings that tune tries, by the kind that lists them.
func candidateRows(c *study.Catalog) (rows []string) {
	add := func(name string, all []parameter.Candidate) {
		for _, k := range all {
			rows = append(rows, fmt.Sprintf("| %s | `%s` | %s | %s |\n", name, k.Setting, k.Said(), cell(k.Why)))
		}
	}
	for _, k := range c.Workloads {
		add(k.Name, k.Candidates)
	}
	for _, k := range c.Services {
		add(k.Name, k.Candidates)
	}
	for _, k := range c.Platforms {
		add(k.Name, k.Candidates)
	}
	return rows
}

// holdRows are the counters that factors hold, those of one level in one row.
func holdRows(c *study.Catalog) (rows []string) {
	var levels []string
	counters := map[string][]string{}
	for _, f := range c.Factors {
		for _, h := range f.Holds {
			level := "one CPU, chosen on the machine"
			if h.PinnedOn == nil {
				level = "`" + h.Pinned + "`"
			}
			by := "`" + study.Factor{Name: f.Name, Target: h.Target}.FullName() + "`: " + level
			if h.Alone {
				by += ", in a study without a service"
			}
			if counters[by] == nil {
				levels = append(levels, by)
			}
			counters[by] = append(counters[by], "`"+h.Counter+"`")
		}
	}
	for _, by := range levels {
		rows = append(rows, fmt.Sprintf("| %s | %s |\n", strings.Join(counters[by], ", "), by))
	}
	return rows
}

// ruleRows are the rules of plimsoll check by area.
func ruleRows() (rows []string) {
	rules := rule.All()
	slices.SortStableFunc(rules, func(a, b diagnosis.Rule) int { return cmp.Compare(a.Area, b.Area) })
	for _, r := range rules {
		rows = append(rows, fmt.Sprintf("| %s | `%s` | %s | %s |\n", r.Area, r.Name, cell(r.Doc), strings.Join(r.Needs, ", ")))
	}
	return rows
}

func settingRows(fields []parameter.Field) []string {
	var rows []string
	for _, f := range fields {
		value := "none"
		if f.Default != "" {
			value = "`" + f.Default + "`"
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |\n", f.Name, value, cell(f.Doc+manual.Allowed(f))))
	}
	return rows
}

// metricRows has one row for the quantiles of a distribution, and one for what all classes
// of operations have.
func metricRows(metrics []measure.Metric) []string {
	var rows []string
	names := map[string][]string{}
	classes := classesOf(metrics)
	for _, m := range metrics {
		name, doc := inGeneral(m, classes)
		row := fmt.Sprintf("| %s | %s | %s |\n", m.Unit, m.Better, cell(doc))
		if names[row] == nil {
			rows = append(rows, row)
		}
		if !slices.Contains(names[row], "`"+name+"`") {
			names[row] = append(names[row], "`"+name+"`")
		}
	}
	for i, row := range rows {
		rows[i] = "| " + strings.Join(shortened(names[row]), ", ") + " " + row
	}
	if len(classes) > 1 {
		rows = append(rows, fmt.Sprintf("\nCLASS is one of `%s`.\n", strings.Join(classes, "`, `")))
	}
	return rows
}

// shortened leaves out what a name has in common with the one before it, up to its last
// part: `read.p50`, `.p99.9`.
func shortened(names []string) []string {
	short := slices.Clone(names)
	for i := 1; i < len(names); i++ {
		if stem, _, ok := strings.Cut(names[0], ".p"); ok {
			short[i] = "`" + strings.TrimPrefix(names[i], stem)
		}
	}
	return short
}

// classesOf are the classes of operations that metrics are of, such as read and write.
func classesOf(metrics []measure.Metric) []string {
	var classes []string
	for _, m := range metrics {
		class, of, _ := strings.Cut(m.Name, ".")
		if of == "mean" && strings.HasSuffix(m.Doc, " of "+class+" operations") {
			classes = append(classes, class)
		}
	}
	return classes
}

var quantile = regexp.MustCompile(`^p[0-9.]+ of`)

// inGeneral names a metric without its class, and describes it without class and quantile.
func inGeneral(m measure.Metric, classes []string) (name, doc string) {
	name, doc = m.Name, quantile.ReplaceAllString(m.Doc, "quantiles of")
	class, of, _ := strings.Cut(name, ".")
	if len(classes) > 1 && slices.Contains(classes, class) {
		return "CLASS." + of, strings.Replace(doc, class+" operations", "operations of the class", 1)
	}
	return name, doc
}

// cell is text in a cell of a table.
func cell(text string) string {
	return strings.ReplaceAll(text, "|", `\|`)
}

// A name that a platform shares with a monitor or a collector has both pages.
func TestSharedNamesHaveAllPages(t *testing.T) {
	for name, heads := range map[string][]string{"vsphere": {"platform vsphere\n", "\n\nmonitor vsphere\n"}, "guest": {"platform guest\n", "\n\ncollector guest\n"}} {
		var b strings.Builder
		if err := manual.PrintPage(&b, catalog.All(), name); err != nil {
			t.Fatal(err)
		}
		for _, head := range heads {
			if !strings.Contains(b.String(), head) {
				t.Errorf("manual %s has no page of the %s", name, strings.TrimSpace(head))
			}
		}
	}
}
