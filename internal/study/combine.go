package study

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"plimsoll/internal/parameter"
)

// mostCombined is the largest number of arms that are all built when a study is validated.
const mostCombined = 64

// loads builds load and service for the baseline, for each other level, and for every arm if
// there are few: this finds invalid combinations of valid settings.
func (lr loadReader) loads(s *Study) {
	build := lr.builder(s)
	baseline := map[string]string{}
	var varied []Factor
	arms := 1
	for _, f := range s.Factors {
		if f.Parameter != "" {
			baseline[f.FullName()] = f.Levels[0]
			varied = append(varied, f)
			arms = min(arms*len(f.Levels), mostCombined+1)
		}
	}
	if place, err := build(baseline); err != nil {
		lr.r.in.Complain(lr.r.places[place], "%s: %v", place, err)
		return
	}
	for _, f := range varied {
		lr.each(build, baseline, f, levelPlace)
	}
	for _, f := range s.Tune.settings() {
		tried := *s
		tried.Factors = append(slices.Clone(s.Factors), f)
		lr.each(lr.builder(&tried), baseline, f, candidatePlace)
	}
	if lr.r.in.Count() > 0 || arms > mostCombined {
		return
	}
	for arm := range arms {
		levels, last := map[string]string{}, ""
		for _, f := range varied {
			i := arm % len(f.Levels)
			arm /= len(f.Levels)
			levels[f.FullName()] = f.Levels[i]
			if i > 0 {
				last = levelPlace(f.FullName(), i)
			}
		}
		if _, err := build(levels); err != nil {
			lr.r.in.Complain(lr.r.places[last], "this level conflicts with levels of other factors: %v", err)
			return
		}
	}
}

// each builds load and service with each level of a factor, on the baseline.
func (lr loadReader) each(build func(map[string]string) (string, error), baseline map[string]string, f Factor, place func(string, int) string) {
	for i, level := range f.Levels {
		levels := maps.Clone(baseline)
		levels[f.FullName()] = level
		if _, err := build(levels); err != nil {
			lr.r.in.Complain(lr.r.places[place(f.FullName(), i)], "%s: level %q: %v", f.FullName(), level, err)
		}
	}
}

// builder returns a function that builds load and service of an arm, and names the part of the
// study that failed.
func (lr loadReader) builder(s *Study) func(levels map[string]string) (place string, err error) {
	kind := lr.r.catalog.Workload(s.Workload.Kind)
	return func(levels map[string]string) (string, error) {
		paced := s.Settings(levels)
		if s.Load.Peak != nil { // probes offer rates
			paced[RateSetting] = "1/s"
		}
		if _, err := kind.New(paced); err != nil {
			return "workload." + kind.Name, err
		}
		for _, g := range s.ArmGroups(levels) {
			if g.Workload == nil {
				continue
			}
			if _, err := lr.r.catalog.Workload(g.Workload.Kind).New(g.Workload.Settings); err != nil {
				return "groups." + g.Name + ".workload." + g.Workload.Kind, err
			}
		}
		if s.Tiled() {
			return lr.buildMembers(s)
		}
		if s.Service == nil {
			return "", nil
		}
		served := lr.r.catalog.Service(s.Service.Kind)
		settings := s.ServiceSettings(levels)
		_, err := served.New(settings)
		if n := settings[instancesSetting]; err == nil && n != "" && n != "1" && !kind.Spreads {
			err = fmt.Errorf("%s %s: the workload %s supports one server only", instancesSetting, n, kind.Name)
		}
		if err == nil {
			err = checkConnections(s.Settings(levels), kind.Defaults, settings, served.Defaults)
		}
		return "service." + served.Name, err
	}
}

// checkConnections rejects a load with more connections per server than max_connections allows, if
// plimsoll starts the server.
func checkConnections(load parameter.Settings, loadDefaults any, served parameter.Settings, servedDefaults any) error {
	if served["address"] != "" {
		return nil // its settings are its own
	}
	want, made := countOf(load, loadDefaults, "connections")
	most, bounded := countOf(served, servedDefaults, "max_connections")
	if made && bounded && want > most {
		return fmt.Errorf("max_connections %d: the load opens %d connections to each server: raise max_connections, or lower the connections of the load", most, want)
	}
	return nil
}

// countOf is an integer setting, if it exists.
func countOf(settings parameter.Settings, defaults any, name string) (n int, there bool) {
	f, ok := parameter.Find(defaults, name)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(cmp.Or(settings[name], f.Default))
	return n, err == nil
}
