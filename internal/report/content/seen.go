package content

import (
	"slices"

	"plimsoll/internal/report"
)

// MostSights is how many arms are shown side by side.
const MostSights = 6

// sightRow is a line of what was seen, by arm.
type sightRow struct {
	Name   string
	Values []string
}

func (r sightRow) Differs() bool {
	return slices.ContainsFunc(r.Values, func(v string) bool { return v != r.Values[0] })
}

// Sights are the names of the arms and what their machines saw, from one trial each. Arms
// that saw the same are shown once, by the first of them.
func Sights(s *report.Sources) (arms []string, rows []sightRow) {
	if s.Sight == nil {
		return nil, nil
	}
	var shown [][]report.TestbedLine
	for arm := range s.Arms() {
		if len(s.Of[arm]) == 0 || len(arms) == MostSights {
			continue
		}
		seen, err := s.Sight(s.InOrder[s.Of[arm][0]].Trial)
		if err != nil || len(seen) == 0 || slices.ContainsFunc(shown, func(other []report.TestbedLine) bool { return slices.Equal(other, seen) }) {
			continue
		}
		for _, l := range seen {
			i := slices.IndexFunc(rows, func(r sightRow) bool { return r.Name == l.Name })
			if i < 0 {
				i = len(rows)
				rows = append(rows, sightRow{Name: l.Name})
			}
			for len(rows[i].Values) < len(arms) {
				rows[i].Values = append(rows[i].Values, "")
			}
			rows[i].Values = append(rows[i].Values, l.Value)
		}
		arms, shown = append(arms, s.Brief(arm)), append(shown, seen)
	}
	for i := range rows {
		for len(rows[i].Values) < len(arms) {
			rows[i].Values = append(rows[i].Values, "")
		}
	}
	return arms, rows
}
