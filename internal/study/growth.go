package study

import (
	"slices"
	"strconv"

	"plimsoll/internal/measure"
	"plimsoll/internal/workload"
)

// instancesSetting is the number of servers of a service that can have several.
const instancesSetting = "instances"

// MostInstances is the largest number of servers.
const MostInstances = 4096

// Growth adds units until one more misses the limits: servers, each with the load of the study, or tiles.
type Growth struct {
	Unit   string  `json:"unit,omitempty"` // TileUnit; empty for servers
	Within []Limit `json:"within"`         // each with a Max; of tiles the groups have them
	From   int     `json:"from"`           // units to begin with
	Step   int     `json:"step"`           // units added at a time
	To     int     `json:"to"`             // largest number of units
}

// Tiles reports whether the units are tiles.
func (g *Growth) Tiles() bool { return g != nil && g.Unit == TileUnit }

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

var growthKeys = []Key{
	{"unit", "what is added: server, the default, or tile: one machine of each group"},
	{"within", "upper limits: {METRIC: value}; host.cpu is the utilisation of the host's CPUs. For tiles: groups, the limits of each group"},
	{"from", "initial number of units; default 1"},
	{"step", "units added at a time; default 1"},
	{"to", "largest number of units"},
}

// growth parses the search for the largest number of units.
func (lr loadReader) growth(e entry, s *Study, kind *workload.Kind) {
	keys := lr.r.table(e.value, "load.growth", names(growthKeys))
	if kind == nil {
		return
	}
	g := &Growth{From: 1, Step: 1}
	s.Load.Growth = g
	if !lr.unit(keys, g) || !lr.bounds(keys, g) {
		return
	}
	if g.Tiles() || s.Tiled() {
		g.Unit = TileUnit
		if err := lr.tileGrowth(keys, s, g); err != nil {
			lr.r.in.Complain(e.key, "load.growth: %v", err)
		}
		return
	}
	if !lr.multiplies(s) || !kind.Spreads {
		lr.r.in.Complain(e.key, "load: a growth adds servers, which needs a workload that asks several (such as web) and a service that can be several (such as nginx)")
		return
	}
	if _, given := s.Service.Settings[instancesSetting]; given || slices.ContainsFunc(s.Factors, func(f Factor) bool { return f.OfService && f.Parameter == instancesSetting }) {
		lr.r.in.Complain(e.key, "load: the growth sets the number of servers: omit %s.%s", s.Service.Kind, instancesSetting)
		return
	}
	within, ok := keys["within"]
	if !ok || g.To <= g.From {
		lr.r.in.Complain(e.key, "load: a growth requires limits, and to greater than from, such as {growth: {within: {p95: 100ms, host.cpu: 90%%}, from: 10, step: 10, to: 500}}")
		return
	}
	g.Within = lr.within(within, append([]measure.Metric{measure.HostCPU()}, kind.Metrics...))
}

// unit parses the unit of a growth.
func (lr loadReader) unit(keys map[string]entry, g *Growth) bool {
	e, ok := keys["unit"]
	if !ok {
		return true
	}
	text, ok := lr.r.scalar(e.value, "unit")
	switch {
	case !ok:
		return false
	case text == "server":
	case text == TileUnit:
		g.Unit = TileUnit
	default:
		lr.r.in.Unknown(e.value, "load.growth.unit: unknown unit", text, []string{"server", TileUnit})
		return false
	}
	return true
}

// bounds parses the numbers of units.
func (lr loadReader) bounds(keys map[string]entry, g *Growth) bool {
	for name, into := range map[string]*int{"from": &g.From, "step": &g.Step, "to": &g.To} {
		if e, ok := keys[name]; ok {
			text, _ := lr.r.scalar(e.value, name)
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 || n > MostInstances {
				lr.r.in.Complain(e.value, "load.growth.%s: %q is not a number of units from 1 to %d", name, text, MostInstances)
				return false
			}
			*into = n
		}
	}
	return true
}

// multiplies reports whether the service of the study can have several servers.
func (lr loadReader) multiplies(s *Study) bool {
	if s.Service == nil {
		return false
	}
	served := lr.r.catalog.Service(s.Service.Kind)
	return served != nil && s.Service.Settings["address"] == "" && hasSetting(served.Defaults, instancesSetting)
}
