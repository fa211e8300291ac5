package study

import (
	"cmp"

	"plimsoll/internal/measure"
)

// InstancesSetting is the number of servers of a service that can have several.
const InstancesSetting = "instances"

// MostInstances is the largest number of servers.
const MostInstances = 4096

// Growth adds units until one more misses the limits: servers, each with the load of the study, units of the load itself, or tiles.
type Growth struct {
	Unit   string  `json:"unit,omitempty"` // of the workload, such as session, or TileUnit; empty for servers
	Within []Limit `json:"within"`         // each with a Max; of tiles the groups have them
	From   int     `json:"from"`           // units to begin with
	Step   int     `json:"step"`           // units added at a time
	To     int     `json:"to"`             // largest number of units
}

// Units is what is added, in the plural.
func (g *Growth) Units() string { return cmp.Or(g.Unit, ServerUnit) + "s" }

// Tiles reports whether the units are tiles.
func (g *Growth) Tiles() bool { return g != nil && g.Unit == TileUnit }

// ServerUnit is the unit of a growth that adds servers.
const ServerUnit = "server"

// Sought is the metric that a search for a peak, or a growth, determines.
func (l Load) Sought() (m measure.Metric, ok bool) {
	switch {
	case l.Peak != nil:
		return measure.PeakMetric(), true
	case l.Growth.Tiles():
		return measure.TilesMetric(), true
	case l.Growth != nil:
		return measure.GrowthMetric(), true
	}
	return m, false
}

// windows estimates the number of windows of a growth that ends halfway.
func (g *Growth) windows(whole bool) float64 {
	const runs, anew, few = 3, 6, 10
	if whole {
		return float64(runs*(g.To-g.From)/g.Step)/2 + anew
	}
	return few
}
