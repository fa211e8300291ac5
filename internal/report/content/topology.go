package content

import (
	"slices"

	"plimsoll/internal/report"
)

// MostTopologies is the largest number of arms shown side by side.
const MostTopologies = 6

// topologyRow is a line of a topology, by arm.
type topologyRow struct {
	Name   string
	Values []string
}

func (r topologyRow) Differs() bool {
	return slices.ContainsFunc(r.Values, func(v string) bool { return v != r.Values[0] })
}

// Topologies are the names of the arms and their topologies, from one trial each. Arms with the
// same topology are shown once, under the first of them.
func Topologies(s *report.Sources) (arms []string, rows []topologyRow) {
	if s.Topology == nil {
		return nil, nil
	}
	var shown [][]report.TestbedLine
	for arm := range s.Arms() {
		if len(s.Of[arm]) == 0 || len(arms) == MostTopologies {
			continue
		}
		seen, err := s.Topology(s.InOrder[s.Of[arm][0]].Trial)
		if err != nil || len(seen) == 0 || slices.ContainsFunc(shown, func(other []report.TestbedLine) bool { return slices.Equal(other, seen) }) {
			continue
		}
		for _, l := range seen {
			i := slices.IndexFunc(rows, func(r topologyRow) bool { return r.Name == l.Name })
			if i < 0 {
				i = len(rows)
				rows = append(rows, topologyRow{Name: l.Name})
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
