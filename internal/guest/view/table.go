package view

import (
	"fmt"
	"slices"
	"strings"
)

// Row is one line of a view.
type Row struct{ Name, Value string }

// Rows are the lines of a view in the order and with the terms of lscpu, without absent ones.
func (t Topology) Rows() []Row {
	all := []Row{
		{"Model name", t.Model},
		{"CPU(s)", fmt.Sprint(t.Threads())},
		{"Thread(s) per core", per(t.Threads(), t.Cores())},
		{"Core(s) per socket", per(t.Cores(), t.Sockets())},
		{"Die(s) per socket", per(t.Dies(), t.Sockets())},
		{"Socket(s)", fmt.Sprint(t.Sockets())},
	}
	for _, level := range []string{"L1d", "L1i", "L1", "L2", "L3", "L4"} {
		all = append(all, Row{level, t.cacheRow(level)})
	}
	if len(t.Nodes) > 0 {
		all = append(all, Row{"NUMA node(s)", fmt.Sprint(len(t.Nodes))})
	}
	for i, n := range t.Nodes {
		all = append(all, Row{fmt.Sprintf("NUMA node%d CPU(s)", i), n.CPUs})
	}
	if len(t.Nodes) > 1 {
		for i, n := range t.Nodes {
			all = append(all, Row{fmt.Sprintf("NUMA node%d distances", i), strings.Trim(fmt.Sprint(n.Distances), "[]")})
		}
	}
	return slices.DeleteFunc(all, func(r Row) bool { return r.Value == "" })
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

// cacheRow shows the sum like lscpu, and its parts.
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
		return "size unknown"
	case bytes%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d KiB", bytes>>10)
}
