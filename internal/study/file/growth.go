package file

import (
	"slices"
	"strconv"

	"plimsoll/internal/document"
	"plimsoll/internal/measure"
	"plimsoll/internal/study"
	"plimsoll/internal/workload"
)

var growthKeys = []Key{
	{"unit", "what is added: server, or a unit of the workload such as session, or tile, one machine of each group; default what the workload supports"},
	{"within", "upper limits: {METRIC: value}; host.cpu is the utilisation of the host's CPUs. For tiles: groups, the limits of each group"},
	{"from", "initial number of units; default 1"},
	{"step", "units added at a time; default 1"},
	{"to", "largest number of units"},
}

// growth parses the search for the largest number of units.
func (lr loadReader) growth(e entry, s *study.Study, kind *workload.Kind) {
	keys := lr.r.table(e.value, "load.growth", names(growthKeys))
	if kind == nil {
		return
	}
	g := &study.Growth{From: 1, Step: 1}
	s.Load.Growth = g
	tiled := s.Tiled()
	if e, ok := keys["unit"]; ok && !tiled && named(e.value, study.TileUnit) {
		lr.r.in.Complain(e.value, "load.growth.unit: a tile is one machine of every group: it requires groups with limits or a reference")
		return
	}
	if tiled {
		g.Unit = study.TileUnit
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
	if g.Unit != "" && !slices.ContainsFunc(g.Within, func(l study.Limit) bool { return l.Metric == errors }) {
		g.Within = append(g.Within, study.Limit{Metric: errors, Unit: "1/s", Max: new(float64)})
	}
}

// unit parses what a growth adds, and returns false for what the study cannot add.
func (lr loadReader) unit(growth entry, keys map[string]entry, s *study.Study, kind *workload.Kind) bool {
	name, known := study.ServerUnit, []string{study.ServerUnit}
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
	owner, setting, given := s.Workload.Kind, study.InstancesSetting, s.Workload.Settings
	switch {
	case name != study.ServerUnit:
		s.Load.Growth.Unit, setting = name, kind.Unit.Setting
	case !lr.multiplies(s) || !kind.Spreads:
		lr.r.in.Complain(growth.key, "load: a growth adds servers, which needs a workload that asks several (such as web) and a service that can be several (such as nginx)")
		return false
	default:
		owner, given = s.Service.Kind, s.Service.Settings
	}
	_, set := given[setting]
	if set || slices.ContainsFunc(s.Factors, func(f study.Factor) bool {
		return f.OfService == (name == study.ServerUnit) && f.Group == "" && f.Parameter == setting
	}) {
		lr.r.in.Complain(growth.key, "load: the growth sets the number of %s: omit %s.%s", s.Load.Growth.Units(), owner, setting)
		return false
	}
	return true
}

// named reports whether a value of the study is a name; no value is none.
func named(n *document.Node, name string) bool { return n != nil && n.Text == name }

// bounds parses the numbers of units.
func (lr loadReader) bounds(keys map[string]entry, g *study.Growth) bool {
	for name, into := range map[string]*int{"from": &g.From, "step": &g.Step, "to": &g.To} {
		if e, ok := keys[name]; ok {
			text, _ := lr.r.scalar(e.value, name)
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 || n > study.MostInstances {
				lr.r.in.Complain(e.value, "load.growth.%s: %q is not a number of %s from 1 to %d", name, text, g.Units(), study.MostInstances)
				return false
			}
			*into = n
		}
	}
	return true
}

// multiplies reports whether the service of the study can have several servers.
func (lr loadReader) multiplies(s *study.Study) bool {
	if s.Service == nil {
		return false
	}
	served := lr.r.catalog.Service(s.Service.Kind)
	return served != nil && s.Service.Settings["address"] == "" && hasSetting(served.Defaults, study.InstancesSetting)
}
