package describe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/study"
	"plimsoll/internal/study/timing"
	"plimsoll/internal/workload"
)

// templatePlatform is where a new study runs.
const templatePlatform = "local"

// Template returns a commented study for a workload, with every setting, its doc and its
// default. It is valid as it is: one arm with defaults.
func Template(c *study.Catalog, name string) ([]byte, error) {
	kind := c.Workload(name)
	if kind == nil {
		known := c.Names("workload")
		if drive := c.Driving(name); len(drive) > 0 {
			return nil, fmt.Errorf("%q is a service, not a workload; %s can drive it", name, strings.Join(drive, ", "))
		}
		if near := parameter.Nearest(name, known); near != "" {
			return nil, fmt.Errorf("unknown workload %q; did you mean %q?", name, near)
		}
		return nil, fmt.Errorf("unknown workload %q; known: %s", name, strings.Join(known, ", "))
	}
	t := &template{}
	t.line("# A study: one question. plimsoll validate checks it, plimsoll plan says what it would do,")
	t.line("# plimsoll run runs it. Lines that begin with # are comments; units are part of a value.")
	t.line("study: my-%s", name)
	t.line("question: What does this machine carry?")
	t.line("")
	t.line("platform: %s", platformOf(c))
	fields := parameter.Fields(kind.Defaults)
	if first, _, _ := strings.Cut(kind.Doc, "\n"); first != "" {
		t.line("\n# %s", first)
	}
	if len(fields) == 0 {
		t.line("workload: %s", name)
	} else {
		t.line("workload:\n  %s:", name)
		if !t.fields("    ", fields) {
			t.line("    {}")
		}
	}
	t.service(c, kind)
	t.factors(c, name, fields)
	t.measure()
	t.aims(kind)
	return t.text.Bytes(), nil
}

func platformOf(c *study.Catalog) string {
	if known := c.Names("platform"); len(known) > 0 && !slices.Contains(known, templatePlatform) {
		return known[0]
	}
	return templatePlatform
}

// template is the text under way.
type template struct{ text bytes.Buffer }

func (t *template) line(format string, args ...any) { fmt.Fprintf(&t.text, format+"\n", args...) }

// fields writes each field with its default. One without a default is a comment; it reports
// whether there was any other.
func (t *template) fields(indent string, fields []parameter.Field) (given bool) {
	for _, f := range fields {
		value, mark := f.Default, ""
		switch {
		case f.Kind == parameter.KindList && value == "[]", value == "":
			value, mark = "", "# "
		case f.Kind != parameter.KindList:
			value = plain(value)
		}
		given = given || mark == ""
		t.line("%-36s # %s", strings.TrimRight(indent+mark+f.Name+": "+value, " "), about(f))
	}
	return given
}

// about is the doc of a field and its range.
func about(f parameter.Field) string {
	takes := string(f.Kind)
	switch {
	case f.Choices != nil:
		takes = strings.Join(f.Choices, ", ")
	case f.Min != "" && f.Max != "":
		takes += " from " + f.Min + " to " + f.Max
	case f.Min != "":
		takes += ", at least " + f.Min
	case f.Max != "":
		takes += ", at most " + f.Max
	}
	if f.Doc == "" {
		return takes
	}
	return strings.ReplaceAll(f.Doc, "\n", " ") + " (" + takes + ")"
}

var safePlain = regexp.MustCompile(`^[A-Za-z0-9/][A-Za-z0-9_./%+-]*$`)

// plain writes a scalar, quoted if YAML would interpret it.
func plain(text string) string {
	if safePlain.MatchString(text) {
		return text
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return `""`
	}
	return string(quoted)
}

// service writes what a workload can talk to, as a comment: without it the study gets
// the first.
func (t *template) service(c *study.Catalog, kind *workload.Kind) {
	fit := c.Fitting(kind)
	if len(fit) == 0 {
		return
	}
	t.line("\n# The server under load: one of these lines, or %s without any. plimsoll starts a private one and", fit[0])
	t.line("# removes it afterwards. What can be set: plimsoll manual %s, and so on.", fit[0])
	lent := ""
	for _, name := range fit {
		served := c.Service(name)
		about, _, _ := strings.Cut(served.Doc, "\n")
		t.line("%-36s # %s", "# service: "+name, about)
		if _, has := parameter.Find(served.Defaults, "address"); has && lent == "" {
			lent = name
		}
	}
	if lent != "" {
		t.line("# service: {%s: {address: \"HOST:PORT\"}}   # one that already runs, and is only used", lent)
	}
}

func (t *template) factors(c *study.Catalog, name string, fields []parameter.Field) {
	t.line("\n# Factors with their levels; the first level is the baseline. A setting above")
	t.line("# that is varied must have the value of the baseline, or be left out.")
	t.line("# factors:")
	for _, f := range fields {
		if f.Kind == parameter.KindInteger && f.Default != "" {
			t.line("#   %s.%s: [%s, ...]", name, f.Name, f.Default)
			break
		}
	}
	for _, f := range c.Factors {
		if len(f.Example) > 0 && ofAnyHost(f.Name) {
			target := ""
			if f.Target != "" {
				words := strings.Fields(f.Target)
				target = "   # or " + f.Name + ":" + strings.ToUpper(words[len(words)-1])
			}
			t.line("#   %s: [%s]%s", f.Name, strings.Join(f.Example, ", "), target)
		}
	}
	t.line("#   and those of guests, clusters and simulations, which plimsoll manual lists")
	t.line("#   %s: [a, b]                 # changes nothing: how often is there a difference where there is none?", study.Label)
	t.line("\n# Factors made of your own commands, used as command.NAME.")
	t.line("# commands:")
	t.line("#   NAME: {read: ..., apply: \"... {level}\", restore: ...}")
}

// ofAnyHost reports whether a factor exists on templatePlatform, unlike those of guests,
// simulations and clusters.
func ofAnyHost(factor string) bool {
	return strings.HasPrefix(factor, "host.") || strings.HasPrefix(factor, "network.")
}

func (t *template) measure() {
	t.line("\nload: closed                           # or {rate: 5000/s}")
	t.line("\nmeasure:")
	for _, f := range parameter.Fields(timing.Default()) {
		switch {
		case f.Name == "looks": // a comment, since they exclude a number of blocks
			t.line("%-36s # %s", "  # looks: [9, 13, 18, 24]", f.Doc)
		case f.Kind == parameter.KindShare || f.Kind == parameter.KindBytes || f.Default == "": // zero stands for none
			t.line("%-36s # %s", "  # "+f.Name+":", f.Doc)
		default:
			t.line("%-36s # %s", "  "+f.Name+": "+f.Default, f.Doc)
		}
	}
}

// common are the metrics that most studies look at, beside the rate of their workload.
var common = []string{"throughput", "mean", "p50", "p95", "p99", "errors"}

func (t *template) aims(kind *workload.Kind) {
	metrics := kind.Metrics
	if len(metrics) == 0 {
		return
	}
	first := metrics[0]
	t.line("\nheadline: [%s]%s # the metrics that decide; the usual ones:", first.Name, strings.Repeat(" ", max(0, 25-len(first.Name))))
	shown := 0
	for i, m := range metrics {
		if i == 0 || m.Name == kind.Rate || slices.Contains(common, m.Name) {
			t.line("#   %-17s %s", m.Name, m.Doc)
			shown++
		}
	}
	if shown < len(metrics) {
		t.line("# and %d more, which plimsoll manual %s lists", len(metrics)-shown, kind.Name)
	}
	t.line("margin: 2%%                             # smallest effect of interest")
	t.line("\n# The goal of plimsoll tune, and the limits that plimsoll run --gate enforces.")
	most, least := "", ""
	for _, m := range metrics {
		if most == "" && m.Better == measure.HigherIsBetter {
			most = m.Name
		}
		if least == "" && m.Better == measure.LowerIsBetter && m.Unit == "s" {
			least = m.Name
		}
	}
	if most != "" {
		t.line("# goal: {most: %s}", most)
	}
	if least != "" {
		t.line("# limits: {%s: {max: 20ms}}", least)
	}
	t.line("\n# seed: 1                              # of all random choices; drawn and printed by default")
}
