package file

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"plimsoll/internal/document"
	"plimsoll/internal/measure"
	"plimsoll/internal/study"
	"plimsoll/internal/workload"
)

// groupLimits is what a growth of tiles keeps: the limits of each group.
const groupLimits = "groups"

// tileKeys are the keys of a group that make the groups of a study the members of a tile.
var tileKeys = []string{"limits", "reference", "elastic"}

// tiled reports whether the groups of a study file are the members of a tile.
func (gr groupReader) tiled(groups []entry) bool {
	return slices.ContainsFunc(groups, func(g entry) bool {
		for i := 0; i+1 < len(g.value.Kids); i += 2 {
			if slices.Contains(tileKeys, g.value.Kids[i].Text) {
				return true
			}
		}
		return false
	})
}

// member parses what a group has of its own in a tile.
func (gr groupReader) member(g *study.Group, path string, keys map[string]entry, n entry) {
	load, driven := keys["workload"]
	if !driven {
		gr.r.in.Complain(n.key, "%s: each group of a tile has a workload", path)
		return
	}
	if several, ok := keys["machines"]; ok {
		gr.r.in.Complain(several.key, "%s.machines: a tile has one machine of each group: set the number of tiles with the key tiles, or with load.growth", path)
	}
	of := gr.kindOf(load.value)
	if of == nil {
		return // reported where the load itself is read
	}
	g.Service = gr.ownService(path, keys, of)
	if e, ok := keys["elastic"]; ok {
		gr.elastic(g, path, e)
	}
	if e, ok := keys["limits"]; ok {
		g.Limits = loadReader(gr).within(e, of.Metrics)
	}
	if e, ok := keys["reference"]; ok {
		if g.Reference = aimReader(gr).amount(e.value, measure.Metric{Name: "reference", Unit: "1/s"}); !(g.Reference > 0) {
			gr.r.in.Complain(e.value, "%s.reference: must be above 0: the rate of the group in one tile on an idle machine", path)
		}
	}
}

// kindOf is the kind of a workload that a group names; nil for none.
func (gr groupReader) kindOf(n *document.Node) *workload.Kind {
	if n.Kind == document.Mapping && len(n.Kids) > 0 {
		n = &n.Kids[0]
	}
	return gr.r.catalog.Workload(n.Text)
}

// ownService is the service of a group of a tile: the one given, or the first that its workload supports; nil for a
// workload without one.
func (gr groupReader) ownService(path string, keys map[string]entry, of *workload.Kind) *study.Use {
	fit := gr.r.catalog.Fitting(of)
	e, given := keys["service"]
	switch {
	case !given && (len(fit) == 0 || of.Alone):
		return nil
	case !given:
		return &study.Use{Kind: fit[0]}
	}
	found, settings := gr.r.use(e.value, "service")
	if found == nil {
		return nil
	}
	if !slices.Contains(fit, found.Name) {
		gr.r.in.Complain(e.value, "%s.service: %s supports no protocol of the workload %s; these do: %s", path, found.Name, of.Name, strings.Join(fit, ", "))
		return nil
	}
	gr.r.places[path+".service."+found.Name] = e.value
	return new(gr.r.used(found, path+".service", settings))
}

// buildMembers builds the service of each group of a tile, and names the part of the study that failed.
func (lr loadReader) buildMembers(s *study.Study) (place string, err error) {
	for _, g := range s.Groups {
		if g.Service == nil {
			continue
		}
		kind := lr.r.catalog.Service(g.Service.Kind)
		place := "groups." + g.Name + ".service." + g.Service.Kind
		if _, err := kind.New(maps.Clone(g.Service.Settings)); err != nil {
			return place, err
		}
	}
	return "", nil
}

// checkTiles finds what a study of tiles cannot have.
func (gr groupReader) checkTiles(s *study.Study, top map[string]entry) {
	if !s.Tiled() {
		return
	}
	if e, ok := top["service"]; ok {
		gr.r.in.Complain(e.key, "service: each group of a tile has its own: move it into one of them")
	}
	for _, g := range s.Groups {
		if g.Reference == 0 && len(g.Limits) == 0 {
			gr.r.in.Complain(top["groups"].key, "groups.%s: a group of a tile has limits, a reference or both", g.Name)
		}
	}
	if e, ok := top["tiles"]; ok {
		n := gr.r.count(e.value, "tiles")
		for i := range s.Groups {
			s.Groups[i].Machines = n
		}
	}
}

// tileUnit reports whether the unit of a growth, where it is given, is a tile.
func (lr loadReader) tileUnit(keys map[string]entry) bool {
	e, ok := keys["unit"]
	if ok && !named(e.value, study.TileUnit) {
		lr.r.in.Unknown(e.value, "unknown unit", e.value.Text, []string{study.TileUnit})
		return false
	}
	return true
}

// tileGrowth parses the growth of a study whose unit is a tile.
func (lr loadReader) tileGrowth(keys map[string]entry, s *study.Study, g *study.Growth) error {
	within, ok := keys["within"]
	if text := ""; ok {
		if text, _ = lr.r.scalar(within.value, "within"); text != groupLimits {
			lr.r.in.Complain(within.value, "load.growth.within: a growth of tiles keeps the limits of its groups: write within: %s", groupLimits)
		}
	}
	if !slices.ContainsFunc(s.Groups, func(g study.Group) bool { return len(g.Limits) > 0 }) {
		return fmt.Errorf("no group has limits, so that tiles would be added without end")
	}
	if g.To <= g.From {
		return fmt.Errorf("a growth of tiles requires to greater than from, such as {growth: {unit: tile, within: groups, from: 1, to: 40}}")
	}
	return nil
}
