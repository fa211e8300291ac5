package study

import (
	"cmp"
	"slices"
	"strconv"

	"plimsoll/internal/document"
	"plimsoll/internal/measure"
	"plimsoll/internal/workload"
)

// instancesSetting is the number of servers of a service that can have several.
const instancesSetting = "instances"

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
func (g *Growth) Units() string { return cmp.Or(g.Unit, server) + "s" }

// Tiles reports whether the units are tiles.
func (g *Growth) Tiles() bool { return g != nil && g.Unit == TileUnit }

// server is the unit of a growth that adds servers.
const server = "server"

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
	{"unit", "what is added: server, or a unit of the workload such as session, or tile, one machine of each group; default what the workload supports"},
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
	tiled := s.Tiled() || named(keys["unit"].value, TileUnit)
	if tiled {
		g.Unit = TileUnit
	}
	if tiled && !lr.tileUnit(keys) || !tiled && !lr.unit(e, keys, s, kind) || !lr.bounds(keys, g) {
		return
	}
	if tiled {
		if err := lr.tileGrowth(keys, s, g); err != nil {
			lr.r.in.Complain(e.key, "load.growth: %v", err)
		}
		return
	}
	within, ok := keys["within"]
	if !ok || g.To <= g.From {
		lr.r.in.Complain(e.key, "load: a growth requires limits, and to greater than from, such as {growth: {within: {p95: 100ms, host.cpu: 90%%}, from: 10, step: 10, to: 500}}")
		return
	}
	g.Within = lr.within(within, append([]measure.Metric{measure.HostCPU()}, kind.Metrics...))
	const errors = "errors" // units of the load that fail do not make the others faster
	if g.Unit != "" && !slices.ContainsFunc(g.Within, func(l Limit) bool { return l.Metric == errors }) {
		g.Within = append(g.Within, Limit{Metric: errors, Unit: "1/s", Max: new(float64)})
	}
}

// unit parses what a growth adds, and returns false for what the study cannot add.
func (lr loadReader) unit(growth entry, keys map[string]entry, s *Study, kind *workload.Kind) bool {
	name, known := server, []string{server}
	if own := kind.Unit; own != nil {
		if known = append(known, own.Name); !kind.Spreads {
			name = own.Name
		}
	}
	if e, ok := keys["unit"]; ok {
		if name, ok = lr.r.scalar(e.value, "unit"); ok && !slices.Contains(known, name) {
			lr.r.in.Unknown(e.value, "unknown unit", name, known)
			ok = false
		}
		if !ok {
			return false
		}
	}
	owner, setting, given := s.Workload.Kind, instancesSetting, s.Workload.Settings
	switch {
	case name != server:
		s.Load.Growth.Unit, setting = name, kind.Unit.Setting
	case !lr.multiplies(s) || !kind.Spreads:
		lr.r.in.Complain(growth.key, "load: a growth adds servers, which needs a workload that asks several (such as web) and a service that can be several (such as nginx)")
		return false
	default:
		owner, given = s.Service.Kind, s.Service.Settings
	}
	_, set := given[setting]
	if set || slices.ContainsFunc(s.Factors, func(f Factor) bool { return f.OfService == (name == server) && f.Group == "" && f.Parameter == setting }) {
		lr.r.in.Complain(growth.key, "load: the growth sets the number of %s: omit %s.%s", s.Load.Growth.Units(), owner, setting)
		return false
	}
	return true
}

// named reports whether a value of the study is a name; no value is none.
func named(n *document.Node, name string) bool { return n != nil && n.Text == name }

// bounds parses the numbers of units.
func (lr loadReader) bounds(keys map[string]entry, g *Growth) bool {
	for name, into := range map[string]*int{"from": &g.From, "step": &g.Step, "to": &g.To} {
		if e, ok := keys[name]; ok {
			text, _ := lr.r.scalar(e.value, name)
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 || n > MostInstances {
				lr.r.in.Complain(e.value, "load.growth.%s: %q is not a number of %s from 1 to %d", name, text, g.Units(), MostInstances)
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
