package file

import (
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/document"
	"plimsoll/internal/measure"
	"plimsoll/internal/study"
	"plimsoll/internal/workload"
)

// GroupKeys are the keys of a group.
var GroupKeys = []Key{
	{"machines", "how many alike; default 1"},
	{"settings", "settings of the platform that differ for this group"},
	{"workload", "the load of its machines: a name, or {NAME: {settings}}; the first group with one is the subject of the study"},
	{"service", "the service of the study, which runs on the first machine of the group, or on all if it spreads as ceph does: a name, or {NAME: {settings}}; beside groups it runs on the subject's, or on the host of the guests whose disks are in it. In a tile each group has its own"},
	{"limits", "upper limits of the group in each tile: {METRIC: value}; they make the groups the members of a tile"},
	{"elastic", "servers of the group that are added and removed while its load runs: {servers: [1, 2], every: 5s}"},
	{"reference", "rate of the group in one tile on an idle machine, such as 43/s; its share of the score is the rate divided by this"},
}

// groups parses the machines and their roles. The subject's workload and the service become
// those of the study.
func (gr groupReader) groups(s *study.Study, top map[string]entry) {
	several, counted := top["machines"]
	e, grouped := top["groups"]
	switch {
	case counted && grouped:
		gr.r.in.Complain(several.key, "machines and groups are mutually exclusive: each group sets its own machines")
	case counted:
		s.Groups = []study.Group{{Machines: gr.r.count(several.value, "machines"), Subject: true}}
	case grouped:
		if both, ok := top["workload"]; ok {
			gr.r.in.Complain(both.key, "workload cannot be set beside groups: move it into one of them")
		}
		all := gr.r.entries(e.value, "groups")
		for _, g := range all {
			gr.group(g, s, top, gr.tiled(all))
		}
		if !slices.ContainsFunc(s.Groups, func(g study.Group) bool { return g.Subject }) {
			gr.r.in.Complain(e.key, "groups: none has a workload")
		}
		gr.checkTiles(s, top)
	}
	if e, ok := top["operations"]; ok {
		gr.operations(e, s)
	}
}

func (gr groupReader) group(e entry, s *study.Study, top map[string]entry, tiled bool) {
	g := study.Group{Name: e.key.Text, Machines: 1}
	if !plainName(g.Name) || strings.Contains(g.Name, ".") || gr.reservedName(g.Name) {
		gr.r.in.Complain(e.key, "groups: invalid name %q: use letters, digits, '-' and '_', and no reserved name", g.Name)
		return
	}
	path := "groups." + g.Name
	keys := gr.r.table(e.value, path, names(GroupKeys))
	if n, ok := keys["machines"]; ok {
		g.Machines = gr.r.count(n.value, path+".machines")
	}
	if n, ok := keys["settings"]; ok {
		if k := find(gr.r.catalog.Kinds("platform"), func(k study.Kind) bool { return k.Name == s.Platform.Kind }); k != nil {
			g.Settings = gr.r.settings(n.value, path+".settings", k.Defaults)
		}
	}
	if tiled {
		gr.member(&g, path, keys, e)
	} else if n, ok := keys["service"]; ok {
		if _, twice := top["service"]; twice {
			gr.r.in.Complain(n.key, "groups: a study has one service, and it is given already")
			return
		}
		top["service"], g.Serves = n, true
	}
	if n, ok := keys["workload"]; ok {
		if _, led := top["workload"]; !led {
			top["workload"], g.Subject = n, true
		} else {
			g.Workload = gr.backgroundLoad(n.value, path)
		}
	}
	s.Groups = append(s.Groups, g)
}

// reservedName rejects group names that are prefixes of other factors.
func (gr groupReader) reservedName(name string) bool {
	return gr.r.catalog.Workload(name) != nil || gr.r.catalog.Service(name) != nil || !factorReader(gr).couldBeLoad(name) || name == study.Label || name == study.MachinesFactor || name+"." == measure.All
}

// backgroundLoad parses the workload of a background group.
func (gr groupReader) backgroundLoad(n *document.Node, path string) *study.Use {
	kind, settings := gr.r.use(n, "workload")
	if kind == nil {
		return nil
	}
	path += ".workload"
	gr.r.places[path+"."+kind.Name] = n
	return new(gr.r.used(kind, path, settings))
}

func (r *reader) count(n *document.Node, what string) int {
	text, ok := r.scalar(n, what)
	v, err := study.ParseMachines(text)
	if ok && err != nil {
		r.in.Complain(n, "%s: %v", what, err)
	}
	return max(1, v)
}

// machinesLevel validates a level of the factor that varies the number of machines.
func (fr factorReader) machinesLevel(n *document.Node) (string, error) {
	text, err := fr.plainLevel(n)
	if err != nil {
		return "", err
	}
	v, err := study.ParseMachines(text)
	return strconv.Itoa(v), err
}

// machinesFactor finds the group whose number of machines varies. Without groups a study has
// one.
func (fr factorReader) machinesFactor(n *document.Node, f study.Factor, s *study.Study) (study.Factor, accept, bool) {
	if len(s.Groups) == 0 && f.Target == "" {
		s.Groups = []study.Group{{Machines: 1, Subject: true}}
	}
	if s.Group(f.Target) == nil {
		fr.r.in.Unknown(n, "factor machines: no group", f.Target, s.GroupNames())
		return f, nil, false
	}
	f.Restart = true
	return f, fr.machinesLevel, true
}

// groupFactor finds the setting of a group's workload, such as "neighbour.storage.threads".
// Settings of the subject have no group prefix.
func (fr factorReader) groupFactor(n *document.Node, s *study.Study, kind *workload.Kind) (f study.Factor, levels accept, ok, mine bool) {
	before, rest, _ := strings.Cut(n.Text, ".")
	g := s.Group(before)
	if before == "" || g == nil || g.Subject && kind == nil {
		return f, nil, false, false
	}
	of := kind
	if !g.Subject {
		if g.Workload == nil {
			fr.r.in.Complain(n, "factor %q: the group %s drives nothing", n.Text, g.Name)
			return f, nil, false, true
		}
		of = fr.r.catalog.Workload(g.Workload.Kind)
	}
	named := *n
	named.Text = rest
	f, levels, ok = fr.parameter(&named, of.Name, of.Defaults)
	if !g.Subject {
		f.Name, f.Group = n.Text, g.Name
	}
	return f, levels, ok, true
}
