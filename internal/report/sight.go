package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// mostSights is how many arms are shown side by side.
const mostSights = 6

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

// sightRow is a line of what was seen, by arm.
type sightRow struct {
	name   string
	values []string
}

func (r sightRow) differs() bool {
	return slices.ContainsFunc(r.values, func(v string) bool { return v != r.values[0] })
}

// sights are the names of the arms and what their machines saw, from one trial each. Arms
// that saw the same are shown once, by the first of them.
func (s *sources) sights() (arms []string, rows []sightRow) {
	if s.Sight == nil {
		return nil, nil
	}
	var shown [][]TestbedLine
	for arm := range s.arms() {
		if len(s.of[arm]) == 0 || len(arms) == mostSights {
			continue
		}
		seen, err := s.Sight(s.records[s.of[arm][0]].Trial)
		if err != nil || len(seen) == 0 || slices.ContainsFunc(shown, func(other []TestbedLine) bool { return slices.Equal(other, seen) }) {
			continue
		}
		for _, l := range seen {
			i := slices.IndexFunc(rows, func(r sightRow) bool { return r.name == l.Name })
			if i < 0 {
				i = len(rows)
				rows = append(rows, sightRow{name: l.Name})
			}
			for len(rows[i].values) < len(arms) {
				rows[i].values = append(rows[i].values, "")
			}
			rows[i].values = append(rows[i].values, l.Value)
		}
		arms, shown = append(arms, s.brief(arm)), append(shown, seen)
	}
	for i := range rows {
		for len(rows[i].values) < len(arms) {
			rows[i].values = append(rows[i].values, "")
		}
	}
	return arms, rows
}

// sights names in the terminal in what the arms' machines differ.
func (t *terminal) sights(s *sources) {
	const most = 6
	_, rows := s.sights()
	var differences []string
	for _, r := range rows {
		if r.differs() {
			shown := slices.Clone(r.values)
			for i := range shown {
				shown[i] = cmp.Or(shown[i], "none")
			}
			differences = append(differences, r.name+" "+strings.Join(shown, " / "))
		}
	}
	if len(differences) == 0 {
		return
	}
	if more := len(differences) - most; more > 0 {
		differences = append(differences[:most], fmt.Sprintf("and %d more", more))
	}
	t.wrap("The machine saw: ", "  ", strings.Join(differences, "; ")+".")
}
