package content

import (
	"slices"

	"plimsoll/internal/report"
)

// PathTable is a table of the paths for text and Markdown, with a row for each arm.
type PathTable struct {
	Columns []string // the first is of the arms
	Rows    [][]string
}

// None is a cell of a table without a value.
const None = "–"

// PathTables are the paths as tables: the latency, the bytes and the CPU time of an operation.
func PathTables(s *report.Sources) (all []PathTable) {
	paths := Paths(s)
	paths = paths[:min(len(paths), MostRows)]
	for _, t := range []PathTable{
		pathTable(s, "latency", paths, func(p *Path) []named { return sum("whole", p.Latency) }),
		pathTable(s, "bytes", paths, flow),
		pathTable(s, "CPU time of an operation", paths, func(p *Path) []named { return sum("", p.CPU) }),
	} {
		if len(t.Columns) > 1 {
			all = append(all, t)
		}
	}
	return all
}

// named is a cell with the name of its column.
type named struct{ name, text string }

// pathTable has a column for each name, in the order in which names come up.
func pathTable(s *report.Sources, title string, paths []Path, of func(p *Path) []named) PathTable {
	t := PathTable{Columns: []string{title}}
	for i := range paths {
		for _, c := range of(&paths[i]) {
			if !slices.Contains(t.Columns, c.name) {
				t.Columns = append(t.Columns, c.name)
			}
		}
	}
	for i := range paths {
		row := slices.Repeat([]string{None}, len(t.Columns))
		row[0] = s.Brief(paths[i].Arm)
		for _, c := range of(&paths[i]) {
			row[slices.Index(t.Columns, c.name)] = c.text
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// sum are the parts after their sum, if it has a name.
func sum(name string, parts []PathPart) (all []named) {
	if name != "" {
		all = append(all, named{name, report.Quantity(Sum(parts), "s")})
	}
	for _, p := range parts {
		all = append(all, named{p.Name, report.Quantity(p.Seconds, "s")})
	}
	return all
}

// flow are the bytes at each hop, with how many of them there are for a byte of the clients.
func flow(p *Path) (all []named) {
	for _, h := range p.Hops {
		name, text := h.Name, report.Quantity(h.Bytes, "B/s")
		if !h.Client {
			text += " ×" + report.Number(h.Per, 0)
			if h.Device {
				name = map[bool]string{false: "devices write", true: "devices read"}[h.Reads]
			}
		}
		all = append(all, named{name, text})
	}
	return all
}
