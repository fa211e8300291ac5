package report

import "fmt"

// sight shows how the machine saw itself, the arms side by side.
func sight() Figure {
	return Figure{
		Name:  "sight",
		Doc:   "How the machine saw its own processors and memory in each arm, as lscpu shows them.",
		Place: inFigures,
		Table: func(s *sources) (Table, bool) {
			names, rows := s.sights()
			if len(rows) == 0 {
				return Table{}, false
			}
			t := Table{Name: "sight", Title: "What the machine saw of itself", Columns: []Column{{Name: "seen"}}}
			for _, name := range names {
				t.Columns = append(t.Columns, Column{Name: name})
			}
			differ := 0
			for _, r := range rows {
				line := []Cell{text(r.name)}
				for _, v := range r.values {
					line = append(line, text(v))
				}
				t.Rows = append(t.Rows, line)
				if r.differs() {
					differ++
				}
			}
			t.Summary = fmt.Sprintf("%d of %d lines differ between arms.", differ, len(rows))
			if s.arms() > len(names) {
				t.Note = fmt.Sprintf("Arms in which it saw the same as in one that is shown are left out, and those beyond %d.", mostSights)
			}
			return t, true
		},
	}
}
