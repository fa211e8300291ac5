package credential

import (
	"fmt"
	"maps"
	"slices"

	"plimsoll/internal/study"
)

// Warnings reports valid but probably unintended content: credentials, which would be
// published with the results.
func Warnings(s *study.Study) (warnings []string) {
	warn := func(where, what string) {
		if what == "" {
			return
		}
		text := fmt.Sprintf("%s: %s is published with the results: give a reference instead, such as env:NAME", where, what)
		if !slices.Contains(warnings, text) {
			warnings = append(warnings, text)
		}
	}
	use := func(where string, u *study.Use) {
		if u == nil {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(u.Settings)) {
			warn(where+u.Kind+"."+name, in(name, u.Settings[name]))
		}
	}
	use("", &s.Platform)
	use("", &s.Workload)
	use("", s.Service)
	use("monitor.", s.Monitor)
	for i := range s.Groups {
		g := &s.Groups[i]
		use("groups."+g.Name+".", g.Workload)
		use("groups."+g.Name+".", &study.Use{Kind: "settings", Settings: g.Settings})
	}
	for _, f := range s.Factors {
		for _, level := range f.Levels {
			warn("factors."+f.FullName(), in(f.Parameter, level))
		}
	}
	for _, c := range s.Commands {
		for _, script := range []string{c.Read, c.Apply, c.Restore} {
			warn("commands."+c.Name, inScript(script))
		}
	}
	if e := s.Measure.Energy; e != nil {
		warn("measure.energy", inScript(e.Command))
	}
	return warnings
}
