package study

import "maps"

// mostCombined is how many arms are tried before a study is accepted.
const mostCombined = 64

// loads builds the load of the baseline, of each other level, and of every arm
// where there are not too many: a workload refuses combinations that no setting
// alone can refuse.
func (r *reader) loads(s *Study) {
	kind := r.catalog.workload(s.Workload.Kind)
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
	if _, err := kind.New(s.Settings(baseline)); err != nil {
		r.complain(r.places["workload"], "workload.%s: %v", kind.Name, err)
		return
	}
	for _, f := range varied {
		for i, level := range f.Levels[1:] {
			levels := maps.Clone(baseline)
			levels[f.FullName()] = level
			if _, err := kind.New(s.Settings(levels)); err != nil {
				r.complain(r.places[levelPlace(f.FullName(), i+1)], "%s: level %q: %v", f.FullName(), level, err)
			}
		}
	}
	if len(r.mistakes) > 0 || arms > mostCombined {
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
		if _, err := kind.New(s.Settings(levels)); err != nil {
			r.complain(r.places[last], "this level does not go with those of the other factors: %v", err)
			return
		}
	}
}
