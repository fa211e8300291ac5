package study

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/document"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
)

// Group is one kind of machines of a study with several.
//
// The first group with a workload is the subject: the sum of its machines is the result of the
// study, and its rate or peak is the study's. The other groups are background load during the
// subject's load; their metrics have the group's name as a prefix. Groups with the same workload
// as the subject also have metrics of all of them together.
type Group struct {
	Name     string             `json:"name,omitempty"` // empty for the only group
	Machines int                `json:"machines"`
	Settings parameter.Settings `json:"settings,omitempty"` // of the platform, if different from the study's
	Subject  bool               `json:"subject,omitempty"`  // its workload is that of the study
	Workload *Use               `json:"workload,omitempty"` // of a background group; nil without a load
	Serves   bool               `json:"serves,omitempty"`   // the service of the study runs on its first machine

	// Of the members of a tile, each of which has a service of its own in every tile: see Tiled.
	Service   *Use    `json:"service,omitempty"`   // nil for a load without one
	Limits    []Limit `json:"limits,omitempty"`    // of the group's metrics, each with a Max
	Reference float64 `json:"reference,omitempty"` // rate in one tile on an idle machine, 1/s; 0 for none
	Twin      bool    `json:"twin,omitempty"`      // of the machine that operations are done to: in no tile
}

// MachinesFactor is the factor that varies how many machines a group has.
const MachinesFactor = "machines"

// MostMachines is the largest number of machines of a group.
const MostMachines = 1024

// GroupKeys are the keys of a group.
var GroupKeys = []Key{
	{"machines", "how many alike; default 1"},
	{"settings", "settings of the platform that differ for this group"},
	{"workload", "the load of its machines: a name, or {NAME: {settings}}; the first group with one is the subject of the study"},
	{"service", "the service of the study, which runs on the first machine of the group, or on all if it spreads as ceph does: a name, or {NAME: {settings}}; beside groups it runs on the subject's, or on the host of the guests whose disks are in it. In a tile each group has its own"},
	{"limits", "upper limits of the group in each tile: {METRIC: value}; they make the groups the members of a tile"},
	{"reference", "rate of the group in one tile on an idle machine, such as 43/s; its share of the score is the rate divided by this"},
}

// groups parses the machines and their roles. The subject's workload and the service become
// those of the study.
func (gr groupReader) groups(s *Study, top map[string]entry) {
	several, counted := top["machines"]
	e, grouped := top["groups"]
	switch {
	case counted && grouped:
		gr.r.in.Complain(several.key, "machines and groups are mutually exclusive: each group sets its own machines")
	case counted:
		s.Groups = []Group{{Machines: gr.r.count(several.value, "machines"), Subject: true}}
	case grouped:
		if both, ok := top["workload"]; ok {
			gr.r.in.Complain(both.key, "workload cannot be set beside groups: move it into one of them")
		}
		all := gr.r.entries(e.value, "groups")
		for _, g := range all {
			gr.group(g, s, top, gr.tiled(all))
		}
		if !slices.ContainsFunc(s.Groups, func(g Group) bool { return g.Subject }) {
			gr.r.in.Complain(e.key, "groups: none has a workload")
		}
		gr.checkTiles(s, top)
	}
	if e, ok := top["operations"]; ok {
		gr.operations(e, s)
	}
}

func (gr groupReader) group(e entry, s *Study, top map[string]entry, tiled bool) {
	g := Group{Name: e.key.Text, Machines: 1}
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
		if k := find(gr.r.catalog.Kinds("platform"), func(k Kind) bool { return k.Name == s.Platform.Kind }); k != nil {
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
	return gr.r.catalog.Workload(name) != nil || gr.r.catalog.Service(name) != nil || !factorReader(gr).couldBeLoad(name) || name == Label || name == MachinesFactor || name+"." == measure.All
}

// backgroundLoad parses the workload of a background group.
func (gr groupReader) backgroundLoad(n *document.Node, path string) *Use {
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
	v, err := machines(text)
	if ok && err != nil {
		r.in.Complain(n, "%s: %v", what, err)
	}
	return max(1, v)
}

func machines(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > MostMachines {
		return 0, fmt.Errorf("%q is not a number of machines from 1 to %d", text, MostMachines)
	}
	return n, nil
}

// machinesLevel validates a level of the factor that varies the number of machines.
func (fr factorReader) machinesLevel(n *document.Node) (string, error) {
	text, err := fr.plainLevel(n)
	if err != nil {
		return "", err
	}
	v, err := machines(text)
	return strconv.Itoa(v), err
}

// machinesFactor finds the group whose number of machines varies. Without groups a study has
// one.
func (fr factorReader) machinesFactor(n *document.Node, f Factor, s *Study) (Factor, accept, bool) {
	if len(s.Groups) == 0 && f.Target == "" {
		s.Groups = []Group{{Machines: 1, Subject: true}}
	}
	if s.group(f.Target) == nil {
		fr.r.in.Unknown(n, "factor machines: no group", f.Target, s.groupNames())
		return f, nil, false
	}
	f.Restart = true
	return f, fr.machinesLevel, true
}

// group finds a group by name; a single subject has none.
func (s *Study) group(name string) *Group {
	for i := range s.Groups {
		if s.Groups[i].Name == name {
			return &s.Groups[i]
		}
	}
	return nil
}

func (s *Study) groupNames() []string {
	return namesOf(s.Groups, func(g Group) string { return g.Name })
}

// groupFactor finds the setting of a group's workload, such as "neighbour.storage.threads".
// Settings of the subject have no group prefix.
func (fr factorReader) groupFactor(n *document.Node, s *Study, kind *workload.Kind) (f Factor, levels accept, ok, mine bool) {
	before, rest, _ := strings.Cut(n.Text, ".")
	g := s.group(before)
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

// ArmGroups are the groups of an arm, with the numbers of machines and workloads of its levels. It
// is empty for a study without several machines.
func (s *Study) ArmGroups(levels map[string]string) []Group {
	crew := slices.Clone(s.Groups)
	for i := range crew {
		g := &crew[i]
		count := Factor{Name: MachinesFactor, Target: g.Name}
		if n, err := machines(levels[count.FullName()]); err == nil {
			g.Machines = n
		}
		if g.Workload == nil {
			continue
		}
		own := Use{Kind: g.Workload.Kind, Settings: parameter.Settings{}}
		maps.Copy(own.Settings, g.Workload.Settings)
		for _, f := range s.Factors {
			if level, ok := levels[f.FullName()]; ok && f.Group == g.Name && f.Parameter != "" {
				own.Settings[f.Parameter] = level
			}
		}
		g.Workload = &own
	}
	return crew
}

// Most is the largest groups of any arm.
func (s *Study) Most() []Group {
	crew := slices.Clone(s.Groups)
	for i := range crew {
		if g := s.Load.Growth; g.Tiles() && !crew[i].Twin {
			crew[i].Machines = g.To
		}
	}
	for _, f := range s.Factors {
		for i := range crew {
			if f.Name != MachinesFactor || f.Target != crew[i].Name {
				continue
			}
			crew[i].Machines = 1
			for _, level := range f.Levels {
				if n, err := machines(level); err == nil {
					crew[i].Machines = max(crew[i].Machines, n)
				}
			}
		}
	}
	return crew
}

// results lists the metrics of the workload, those of several machines, and those of
// background groups, prefixed with the group's name. Those of all groups with the workload of
// the subject together have the prefix measure.All.
func (s *Study) results(c *Catalog, kind *workload.Kind) []measure.Metric {
	if s.Imported != nil {
		return s.Imported.Metrics
	}
	if kind == nil {
		return nil
	}
	out := kind.Metrics[:len(kind.Metrics):len(kind.Metrics)]
	if slices.ContainsFunc(s.Factors, func(f Factor) bool { return f.Name == migrationFactor }) {
		out = append(out, measure.MigrationMetrics()...)
	}
	if s.Service != nil && (s.Service.Settings[faultSetting] != "" || slices.ContainsFunc(s.Factors, func(f Factor) bool { return f.OfService && f.Parameter == faultSetting })) {
		out = append(out, measure.FaultMetrics()...)
	}
	if len(s.Groups) == 0 && s.Servers() {
		return append(out, measure.SharingMetrics("server")...)
	}
	if len(s.Groups) == 0 {
		return out
	}
	if s.Tiled() {
		return append(s.tileMetrics(), s.memberMetrics(c)...)
	}
	out = append(out, measure.SharingMetrics("machine")...)
	if _, sought := s.Load.Sought(); !sought && slices.ContainsFunc(s.Groups, func(g Group) bool { return g.Workload != nil && g.Workload.Kind == kind.Name }) {
		out = append(out, measure.CombinedMetrics(kind.Rate, kind.Metrics)...)
	}
	for _, g := range s.Groups {
		if g.Workload == nil {
			continue
		}
		of := c.Workload(g.Workload.Kind)
		if of == nil {
			continue
		}
		for _, m := range of.Metrics {
			m.Name = g.Name + "." + m.Name
			out = append(out, m)
		}
	}
	return out
}

// What has metrics of its own: a factor, and a setting of services.
const migrationFactor, faultSetting = "guest.migration", "fault"

// Results lists what the records of the study may hold: the metrics of its workloads.
func (s *Study) Results(c *Catalog) []measure.Metric {
	return s.results(c, c.Workload(s.Workload.Kind))
}

// Servers reports whether the study has several servers of its service at once in any arm.
func (s *Study) Servers() bool {
	several := func(n string) bool { return n != "" && n != "1" }
	if s.Service == nil {
		return false
	}
	return several(s.Service.Settings[instancesSetting]) ||
		slices.ContainsFunc(s.Factors, func(f Factor) bool {
			return f.OfService && f.Parameter == instancesSetting && slices.ContainsFunc(f.Levels, several)
		})
}
