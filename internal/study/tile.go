package study

import (
	"slices"

	"plimsoll/internal/measure"
)

// TileUnit is the unit of a growth that adds tiles.
const TileUnit = "tile"

// Tiled reports whether the groups of the study are the members of a tile: each with a workload, a service, limits and
// a reference of its own. A tile has one machine of each group.
func (s *Study) Tiled() bool {
	return slices.ContainsFunc(s.Groups, func(g Group) bool { return len(g.Limits) > 0 || g.Reference > 0 })
}

// Tiles is the number of tiles of a trial, at the beginning of a growth the smallest.
func (s *Study) Tiles() int {
	if s.Load.Growth != nil {
		return s.Load.Growth.From
	}
	return s.Groups[0].Machines
}

// MostTiles is the largest number of tiles of any trial; 1 for a study without tiles.
func (s *Study) MostTiles() int {
	switch {
	case !s.Tiled():
		return 1
	case s.Load.Growth != nil:
		return s.Load.Growth.To
	}
	return s.Groups[0].Machines
}

// errorRate is the metric of failed operations per second.
const errorRate = "errors"

// LimitsErrors reports whether failed operations are held against a limit of the group. Without one none may fail.
func (g Group) LimitsErrors() bool {
	return slices.ContainsFunc(g.Limits, func(l Limit) bool { return l.Metric == errorRate })
}

// Alone is the study of one group by itself, with its service, as a tile has it.
func (s *Study) Alone(g Group) *Study {
	own := *s
	own.Workload = s.load(g)
	own.Service, own.Hosted, own.Groups = g.Service, false, nil
	own.Factors = slices.DeleteFunc(slices.Clone(s.Factors), func(f Factor) bool { return f.OfService || f.Parameter != "" && f.Group != "" })
	return &own
}

// load is the workload of a group.
func (s *Study) load(g Group) Use {
	if g.Workload != nil {
		return *g.Workload
	}
	return s.Workload
}

// tileMetrics are the metrics of a study of tiles besides those of its groups.
func (s *Study) tileMetrics() []measure.Metric {
	scored := slices.ContainsFunc(s.Groups, func(g Group) bool { return g.Reference > 0 })
	all := measure.TileMetrics(scored)
	if scored && slices.ContainsFunc(s.Operations, func(o Operation) bool { return o.Reference > 0 }) {
		all = append(measure.OverallMetrics(), all...)
	}
	for _, o := range s.Operations {
		all = append(all, o.Metric())
	}
	if s.Load.Growth == nil {
		all = append(all, measure.TilesMetric())
	}
	return all
}

// memberMetrics are the metrics of the groups of a tile, prefixed with their names. Of a growth that adds tiles no load is
// the result, so that it has none.
func (s *Study) memberMetrics(c *Catalog) (all []measure.Metric) {
	if s.Load.Growth != nil {
		return nil
	}
	for _, g := range s.Groups {
		of := c.Workload(s.load(g).Kind)
		if of == nil || g.Twin {
			continue
		}
		for _, m := range of.Metrics {
			m.Name = g.Name + "." + m.Name
			all = append(all, m)
		}
	}
	return all
}
