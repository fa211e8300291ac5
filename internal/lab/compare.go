package lab

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"plimsoll/internal/finding/compare"
	"plimsoll/internal/measure"
	"plimsoll/internal/measure/imported"
	"plimsoll/internal/parameter"
	"plimsoll/internal/study"
)

// DefaultMargin is the margin of comparisons without a study, as a share.
const DefaultMargin = 0.02

// side is one side of a comparison.
type side struct {
	run      compare.Run
	arm      string // if the run has several
	trials   int    // valid trials
	void     int
	headline []string
	margin   float64
	caution  string            // warning about the testbed
	asked    map[string]string // settings of its workload and its service, by full name; nil if unknown
}

// CautionFact is the fact of a testbed that is said beside every verdict.
const CautionFact = "caution"

// cautionOf is the warning of a comparison of two sides, with the side if it concerns one
// only.
func cautionOf(a, b side) string {
	if a.caution == b.caution {
		return a.caution
	}
	var said []string
	for _, s := range []side{a, b} {
		if s.caution != "" {
			said = append(said, "in "+s.run.Label+": "+s.caution)
		}
	}
	return strings.Join(said, "; ")
}

// different lists the settings in which two sides differ beyond their labels.
func different(a, b side) string {
	if a.asked == nil || b.asked == nil {
		return ""
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(a.asked)) {
		// Settings of only one of two kinds are covered by the names of the kinds.
		x := a.asked[name]
		if y, both := b.asked[name]; both && x != y {
			all = append(all, fmt.Sprintf("%s (%s, %s)", name, cmp.Or(x, "none"), cmp.Or(y, "none")))
		}
	}
	if all == nil {
		return ""
	}
	return "the two differ in " + strings.Join(all, ", ")
}

// askedOf are the settings of workload and service of an arm, defaults included; of a service
// that plimsoll did not start, only its address.
func askedOf(c *study.Catalog, r *Run, arm int) map[string]string {
	s, levels := r.Source.Study, r.Plan.Arms[arm].Levels
	if s.Imported != nil {
		return importedSettings(s.Imported.Format, s.Workload.Settings, levels)
	}
	all := map[string]string{"the workload": s.Workload.Kind}
	add := func(kind string, defaults any, settings parameter.Settings) {
		for _, f := range parameter.Fields(defaults) {
			all[kind+"."+f.Name] = f.Default
		}
		for name, value := range settings {
			all[kind+"."+name] = value
		}
	}
	if k := c.Workload(s.Workload.Kind); k != nil {
		add(k.Name, k.Defaults, s.Settings(levels))
	}
	if s.Service == nil {
		return all
	}
	all["the service"] = s.Service.Kind
	settings := s.ServiceSettings(levels)
	if k := c.Service(s.Service.Kind); k != nil && settings["address"] == "" {
		add(k.Name, k.Defaults, settings)
	}
	return all
}

// importedSettings are the tool of imported results and its settings, whichever of them are levels.
func importedSettings(format string, settings, levels map[string]string) map[string]string {
	all := map[string]string{"the tool": format}
	for _, of := range []map[string]string{settings, levels} {
		for name, value := range of {
			if name == imported.ArmFactor {
				continue
			}
			if !strings.HasPrefix(name, format+".") {
				name = format + "." + name
			}
			all[name] = value
		}
	}
	return all
}

// valuesOf gathers the values of the valid trials of an arm by metric.
func valuesOf(records []measure.Record, arm int) map[string][]float64 {
	values := map[string][]float64{}
	for i := range records {
		if r := &records[i]; r.Valid() && r.Arm == arm {
			for name, v := range r.Values {
				values[name] = append(values[name], v)
			}
		}
	}
	return values
}
