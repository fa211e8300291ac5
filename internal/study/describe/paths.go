package describe

import (
	"plimsoll/internal/parameter"
	"plimsoll/internal/study/timing"
)

// Paths lists the keys of a study with a single value, in the form of overrides: "margin",
// "measure.window".
func Paths() []string {
	paths := []string{"study", "question", "platform", "workload", "service", "machines", "tiles", "load", "load.rate", "headline", "margin", "seed"}
	for _, f := range parameter.Fields(timing.Default()) {
		paths = append(paths, "measure."+f.Name)
	}
	for _, f := range parameter.Fields(timing.EnergySource()) {
		paths = append(paths, "measure."+timing.Energy+"."+f.Name)
	}
	for _, f := range parameter.Fields(timing.Tuning()) {
		paths = append(paths, "tune."+f.Name)
	}
	return paths
}
