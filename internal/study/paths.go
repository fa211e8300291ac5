package study

import "plimsoll/internal/parameter"

// Paths lists the keys of a study with a single value, in the form of overrides: "margin",
// "measure.window".
func Paths() []string {
	paths := []string{"study", "question", "platform", "workload", "service", "machines", "load", "load.rate", "headline", "margin", "seed"}
	for _, f := range parameter.Fields(DefaultTiming()) {
		paths = append(paths, "measure."+f.Name)
	}
	return paths
}
