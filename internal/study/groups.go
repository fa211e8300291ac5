package study

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

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
	Service   *Use     `json:"service,omitempty"`   // nil for a load without one
	Limits    []Limit  `json:"limits,omitempty"`    // of the group's metrics, each with a Max
	Reference float64  `json:"reference,omitempty"` // rate in one tile on an idle machine, 1/s; 0 for none
	Elastic   *Elastic `json:"elastic,omitempty"`   // nil for a constant number of servers
	Twin      bool     `json:"twin,omitempty"`      // of the machine that operations are done to: in no tile
}

// Loaded reports whether the machines of the group run a load.
func (g Group) Loaded() bool { return g.Subject || g.Workload != nil }

// MachinesFactor is the factor that varies how many machines a group has.
const MachinesFactor = "machines"

// MostMachines is the largest number of machines of a group.
const MostMachines = 1024

// ParseMachines reads a number of machines.
func ParseMachines(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > MostMachines {
		return 0, fmt.Errorf("%q is not a number of machines from 1 to %d", text, MostMachines)
	}
	return n, nil
}

// Group finds a group by name; a single subject has none.
func (s *Study) Group(name string) *Group {
	for i := range s.Groups {
		if s.Groups[i].Name == name {
			return &s.Groups[i]
		}
	}
	return nil
}

// GroupNames are the names of all groups.
func (s *Study) GroupNames() []string {
	return namesOf(s.Groups, func(g Group) string { return g.Name })
}

// ArmGroups are the groups of an arm, with the numbers of machines and workloads of its levels. It
// is empty for a study without several machines.
func (s *Study) ArmGroups(levels map[string]string) []Group {
	crew := slices.Clone(s.Groups)
	for i := range crew {
		g := &crew[i]
		count := Factor{Name: MachinesFactor, Target: g.Name}
		if n, err := ParseMachines(levels[count.FullName()]); err == nil {
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
				if n, err := ParseMachines(level); err == nil {
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

// Results lists what the records of the study may hold: the metrics of its workloads and, after them, those of energy.
func (s *Study) Results(c *Catalog) []measure.Metric {
	all := s.results(c, c.Workload(s.Workload.Kind))
	if len(all) == 0 || s.Imported != nil {
		return all
	}
	return append(all[:len(all):len(all)], s.energyMetrics(c)...)
}

// Servers reports whether the study has several servers of its service at once in any arm.
func (s *Study) Servers() bool {
	several := func(n string) bool { return n != "" && n != "1" }
	if s.Service == nil {
		return false
	}
	return several(s.Service.Settings[InstancesSetting]) ||
		slices.ContainsFunc(s.Factors, func(f Factor) bool {
			return f.OfService && f.Parameter == InstancesSetting && slices.ContainsFunc(f.Levels, several)
		})
}
