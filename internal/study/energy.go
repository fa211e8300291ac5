package study

import (
	"slices"

	"plimsoll/internal/measure"
)

// energyMetrics are the metrics of the energy of the host, which a study may have or not: none in virtual time, and none of a
// search, whose loads differ.
func (s *Study) energyMetrics(c *Catalog) []measure.Metric {
	if _, searches := s.Load.Sought(); searches || c.Virtual(s.Platform.Kind) {
		return nil
	}
	return measure.EnergyMetrics(s.Tiled())
}

// DecidedByEnergy is a metric of energy that decides the study: a headline, a limit, the goal, or the score per kilowatt of tiles
// among those; empty for none.
func (s *Study) DecidedByEnergy() string {
	names := slices.Clone(s.Headline)
	if s.Goal != nil {
		names = append(names, s.Goal.Metric)
		for _, l := range s.Goal.Floor {
			names = append(names, l.Metric)
		}
	}
	for _, l := range s.Limits {
		names = append(names, l.Metric)
	}
	of := append(measure.EnergyMetrics(false), measure.Metric{Name: measure.KilowattScore})
	i := slices.IndexFunc(names, func(name string) bool {
		return slices.ContainsFunc(of, func(m measure.Metric) bool { return m.Name == name })
	})
	if i < 0 {
		return ""
	}
	return names[i]
}
