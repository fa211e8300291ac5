// Package manual prints what there is to say about everything in a catalog.
package manual

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"plimsoll/internal/diagnosis/rule"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/study"
)

// Names lists everything that has a manual page.
func Names(c *study.Catalog) []string {
	var names []string
	for _, p := range Pages(c) {
		names = append(names, p.Name)
	}
	return names
}

// PrintIndex writes one line for each thing that has a manual page.
func PrintIndex(w io.Writer, c *study.Catalog) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, p := range Pages(c) {
		first, _, _ := strings.Cut(p.Doc, "\n")
		fmt.Fprintf(table, "%s\t%s\t%s\n", p.Kind, p.Name, first)
	}
	return table.Flush()
}

// PrintPage writes the manual page of one thing, one after the other those of things that share a
// name, or the entry of one setting ("redis.appendfsync"). Its error names the nearest
// name that has one.
func PrintPage(w io.Writer, c *study.Catalog, name string) error {
	found := false
	for _, p := range Pages(c) {
		if p.Name == name {
			if found {
				fmt.Fprintln(w)
			}
			fmt.Fprintf(w, "%s %s\n\n%s\n", p.Kind, p.Name, p.Doc)
			p.rest(w)
			found = true
		}
	}
	if found {
		return nil
	}
	known := Names(c)
	if owner, f, ok := setting(c, name); ok {
		fmt.Fprintf(w, "setting %s of the %s %s, described by \"plimsoll manual %s\"\n", name, owner.Kind, owner.Name, owner.Name)
		printSettings(w, []parameter.Field{f})
		return nil
	}
	if full := endingIn(Settings(c), "."+name); len(full) > 0 {
		return fmt.Errorf("no manual page %q; did you mean %s?", name, strings.Join(full, ", "))
	}
	if near := parameter.Nearest(name, append(known, Settings(c)...)); near != "" {
		return fmt.Errorf("no manual page %q; did you mean %q?", name, near)
	}
	return fmt.Errorf("no manual page %q; known: %s", name, strings.Join(known, ", "))
}

func endingIn(names []string, end string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, end) })
}

// Settings lists the settings of workloads and services by full name, such as
// redis.appendfsync.
func Settings(c *study.Catalog) []string {
	var names []string
	for _, p := range Pages(c) {
		for _, f := range p.Fields {
			names = append(names, p.Name+"."+f.Name)
		}
	}
	return names
}

// setting finds a setting by its full name.
func setting(c *study.Catalog, name string) (Page, parameter.Field, bool) {
	for _, p := range Pages(c) {
		for _, f := range p.Fields {
			if p.Name+"."+f.Name == name {
				return p, f, true
			}
		}
	}
	return Page{}, parameter.Field{}, false
}

// A Page is the manual page of one thing.
type Page struct {
	Kind, Name, Doc string
	Fields          []parameter.Field
	Metrics         []measure.Metric
	rest            func(w io.Writer)
}

// Pages are those of a catalog.
func Pages(c *study.Catalog) []Page {
	var pages []Page
	for _, k := range c.Workloads {
		pages = append(pages, Page{"workload", k.Name, k.Doc, parameter.Fields(k.Defaults), k.Metrics, func(w io.Writer) {
			printFields(w, k.Name, k.Defaults)
			printCandidates(w, k.Candidates)
			printMetrics(w, k.Metrics)
		}})
	}
	for _, k := range c.Services {
		pages = append(pages, Page{"service", k.Name, k.Doc, parameter.Fields(k.Defaults), k.Recorded(), func(w io.Writer) {
			fmt.Fprintf(w, "\nProtocols: %s.\n", strings.Join(k.Speaks, ", "))
			printFields(w, k.Name, k.Defaults)
			printCandidates(w, k.Candidates)
			printMetrics(w, k.Recorded())
		}})
	}
	for _, k := range c.Platforms {
		pages = append(pages, Page{"platform", k.Name, k.Doc, parameter.Fields(k.Defaults), nil, func(w io.Writer) {
			printFields(w, "", k.Defaults)
			printCandidates(w, k.Candidates)
		}})
	}
	for _, f := range c.Factors {
		pages = append(pages, Page{"factor", f.Name, f.Doc, nil, nil, func(w io.Writer) {
			full := f.Name
			if f.Target != "" {
				fmt.Fprintf(w, "\nTarget, after a colon: %s.\n", f.Target)
				full += ":" + strings.ToUpper(strings.Fields(f.Target)[len(strings.Fields(f.Target))-1])
			}
			if f.Restart {
				fmt.Fprintln(w, "\nHard to change: assigned to whole plots of a split-plot design.")
			}
			fmt.Fprintf(w, "\n    factors:\n      %s: [%s]\n", full, strings.Join(f.Example, ", "))
		}})
	}
	for _, s := range c.Sources {
		var metrics []measure.Metric
		for _, counter := range s.Counters {
			metrics = append(metrics, counter.Metric)
		}
		pages = append(pages, Page{"collector", s.Name, s.Doc, nil, metrics, func(w io.Writer) { printMetrics(w, metrics) }})
	}
	for _, m := range c.Monitors {
		pages = append(pages, Page{"monitor", m.Name, m.Doc, parameter.Fields(m.Defaults), m.Metrics, func(w io.Writer) {
			printFields(w, "", m.Defaults)
			printMetrics(w, m.Metrics)
		}})
	}
	for _, r := range rule.All() {
		pages = append(pages, Page{"rule", r.Name, r.Doc, nil, nil, func(w io.Writer) {
			fmt.Fprintf(w, "\nArea: %s.\nJudged with readings of: %s.\n", r.Area, strings.Join(r.Needs, ", "))
			if len(r.Explains) > 0 {
				fmt.Fprintf(w, "Findings that follow from it: %s.\n", strings.Join(r.Explains, ", "))
			}
			fmt.Fprintln(w, "\n    plimsoll check")
		}})
	}
	return pages
}

func printFields(w io.Writer, owner string, defaults any) {
	fields := parameter.Fields(defaults)
	if len(fields) == 0 {
		return
	}
	fmt.Fprintln(w, "\nSettings:")
	printSettings(w, fields)
	if owner != "" {
		fmt.Fprintf(w, "\nEach setting is also a factor: %s.%s.\n", owner, fields[0].Name)
	}
}

// printSettings writes a table of settings: name, type, default, meaning.
func printSettings(w io.Writer, fields []parameter.Field) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range fields {
		value := f.Default
		if value == "" {
			value = "-"
		}
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\n", f.Name, f.Kind, value, f.Doc+Allowed(f))
	}
	table.Flush()
}

// printCandidates writes a table of what tune tries: setting, levels, effect to expect.
func printCandidates(w io.Writer, all []parameter.Candidate) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintln(w, "\nCandidates of plimsoll tune:")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range all {
		fmt.Fprintf(table, "  %s\t%s\t%s\n", c.Setting, c.Said(), c.Why)
	}
	table.Flush()
}

// Allowed tells the values that a setting takes, in parentheses, and which of them are unsafe; "" where any
// does.
func Allowed(f parameter.Field) string { return taken(f) + unsafe(f) }

func taken(f parameter.Field) string {
	switch {
	case f.Choices != nil:
		return " (" + strings.Join(f.Choices, ", ") + ")"
	case f.Min != "" && f.Max != "":
		return " (" + f.Min + " to " + f.Max + ")"
	case f.Min != "":
		return " (at least " + f.Min + ")"
	case f.Max != "":
		return " (at most " + f.Max + ")"
	}
	return ""
}

// unsafe tells the values of a setting that can lose data or weaken security; "" where none can.
func unsafe(f parameter.Field) string {
	safe, except := strings.CutPrefix(f.Unsafe, "!")
	switch list := strings.ReplaceAll(safe, ",", ", "); {
	case f.Unsafe == "":
		return ""
	case except:
		return "; unsafe: all but " + list
	default:
		return "; unsafe: " + list
	}
}

func printMetrics(w io.Writer, metrics []measure.Metric) {
	fmt.Fprintln(w, "\nMetrics:")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, m := range metrics {
		better := ""
		if m.Better != measure.Neutral {
			better = string(m.Better) + " is better"
		}
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\n", m.Name, m.Unit, better, m.Doc)
	}
	table.Flush()
}
