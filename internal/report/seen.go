package report

import "slices"

// mostSights is how many arms are shown side by side.
const mostSights = 6

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
