package view

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Column is a view with the name that heads it, such as the arm of a study.
type Column struct {
	Name     string
	Topology Topology
}

// Row is one line of a view.
type Row struct{ Name, Value string }

// Rows are a view line by line, in the order and with the words of lscpu, without those
// that it does not have.
func (t Topology) Rows() (all []Row) {
	rows([]Column{{Topology: t}}, func(name string, cells []string) { all = append(all, Row{name, cells[0]}) })
	return all
}

// Table shows views side by side, in the order and with the words of lscpu. A row that
// none of them has is left out.
func Table(columns ...Column) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	heads := make([]string, len(columns))
	for i, c := range columns {
		heads[i] = c.Name
	}
	fmt.Fprintf(w, "\t%s\n", strings.Join(heads, "\t"))
	rows(columns, func(name string, cells []string) { fmt.Fprintf(w, "%s\t%s\n", name, strings.Join(cells, "\t")) })
	_ = w.Flush() // a strings.Builder takes everything
	return trimLines(out.String())
}

// rows gives the lines of views side by side that any of them has.
func rows(columns []Column, give func(name string, cells []string)) {
	row := func(name string, cell func(Topology) string) {
		cells := make([]string, len(columns))
		empty := true
		for i, c := range columns {
			cells[i] = cell(c.Topology)
			empty = empty && cells[i] == ""
		}
		if !empty {
			give(name, cells)
		}
	}
	row("Model name", func(t Topology) string { return t.Model })
	row("CPU(s)", func(t Topology) string { return fmt.Sprint(t.Threads()) })
	row("Thread(s) per core", func(t Topology) string { return per(t.Threads(), t.Cores()) })
	row("Core(s) per socket", func(t Topology) string { return per(t.Cores(), t.Sockets()) })
	row("Die(s) per socket", func(t Topology) string { return per(t.Dies(), t.Sockets()) })
	row("Socket(s)", func(t Topology) string { return fmt.Sprint(t.Sockets()) })
	for _, name := range cacheNames(columns) {
		row(name, func(t Topology) string { return t.cacheRow(name) })
	}
	row("NUMA node(s)", func(t Topology) string {
		if len(t.Nodes) == 0 {
			return ""
		}
		return fmt.Sprint(len(t.Nodes))
	})
	for i := range mostNodes(columns) {
		row(fmt.Sprintf("NUMA node%d CPU(s)", i), func(t Topology) string {
			if i >= len(t.Nodes) {
				return ""
			}
			return t.Nodes[i].CPUs
		})
	}
	for i := range mostNodes(columns) {
		row(fmt.Sprintf("NUMA node%d distances", i), func(t Topology) string {
			if len(t.Nodes) < 2 || i >= len(t.Nodes) {
				return ""
			}
			return strings.Trim(fmt.Sprint(t.Nodes[i].Distances), "[]")
		})
	}
}

func per(total, of int) string {
	switch {
	case of == 0:
		return ""
	case total%of != 0:
		return fmt.Sprintf("uneven: %d in %d", total, of)
	}
	return fmt.Sprint(total / of)
}

// cacheRow tells the sum as lscpu does, and what it is made of.
func (t Topology) cacheRow(name string) string {
	var parts []string
	for _, c := range t.Cache {
		if c.Name != name {
			continue
		}
		n := len(c.Sharing)
		text := fmt.Sprintf("%s (%d x %s)", size(c.Size*int64(n)), n, size(c.Size))
		if n == 1 {
			text = fmt.Sprintf("%s (1 instance)", size(c.Size))
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " + ")
}

func size(bytes int64) string {
	switch {
	case bytes == 0:
		return "size not known"
	case bytes%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d KiB", bytes>>10)
}

func cacheNames(columns []Column) []string {
	var names []string
	for _, level := range []string{"L1d", "L1i", "L1", "L2", "L3", "L4"} {
		for _, c := range columns {
			if c.Topology.cacheRow(level) != "" {
				names = append(names, level)
				break
			}
		}
	}
	return names
}

func mostNodes(columns []Column) int {
	n := 0
	for _, c := range columns {
		n = max(n, len(c.Topology.Nodes))
	}
	return n
}

func trimLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}
