package study

import (
	"maps"
	"slices"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
)

// Settings returns the settings of the workload in an arm: those of the study, overridden by
// the levels of factors that vary settings, by full name of the factor.
func (s *Study) Settings(levels map[string]string) parameter.Settings {
	out := parameter.Settings{}
	maps.Copy(out, s.Workload.Settings)
	for _, f := range s.Factors {
		if level, ok := levels[f.FullName()]; ok && f.Parameter != "" && !f.OfService && f.Group == "" {
			out[f.Parameter] = level
		}
	}
	return out
}

// Pacing is the rate that a study offers, by its load or by a setting of the workload, or the think time of a closed
// loop; 0 for none. Varied says that its arms have several of them.
func (s *Study) Pacing() (rate float64, think time.Duration, varied bool) {
	var r parameter.Rate
	var d parameter.Duration
	_ = r.UnmarshalText([]byte(s.Workload.Settings["rate"])) // of a study that was read, what is no rate is empty
	_ = d.UnmarshalText([]byte(s.Workload.Settings["think"]))
	for _, f := range s.Factors {
		varied = varied || !f.OfService && f.Group == "" && (f.Parameter == "rate" || f.Parameter == "think") && len(f.Levels) > 1
	}
	return max(s.Load.Rate, float64(r)), time.Duration(d), varied
}

// ServiceSettings returns the settings of the service in an arm, in the same way.
func (s *Study) ServiceSettings(levels map[string]string) parameter.Settings {
	out := parameter.Settings{}
	if s.Service == nil {
		return out
	}
	maps.Copy(out, s.Service.Settings)
	for _, f := range s.Factors {
		if level, ok := levels[f.FullName()]; ok && f.OfService {
			out[f.Parameter] = level
		}
	}
	return out
}

// Windows estimates the windows of a trial's load: one, or the probes of a search. A search
// that is the whole study brackets, offers three ladders and confirms; one of several trials
// offers one ladder.
func (s *Study) Windows() float64 {
	const ladder, whole = 8, 40
	switch {
	case s.Load.Growth != nil:
		return s.Load.Growth.windows(s.alone())
	case s.Load.Peak == nil:
		return 1
	case s.alone():
		return whole
	}
	return ladder
}

// alone reports whether one trial is the whole study.
func (s *Study) alone() bool {
	return s.Measure.Blocks == 1 && !slices.ContainsFunc(s.Factors, func(f Factor) bool { return len(f.Levels) > 1 })
}

// Counters lists what sources and monitors can count.
func (c *Catalog) Counters() (all []measure.Metric) {
	for _, source := range c.Sources {
		for _, counter := range source.Counters {
			all = append(all, counter.Metric)
		}
	}
	for _, m := range c.Monitors {
		all = append(all, m.Metrics...)
	}
	return all
}

// Metrics lists what the records of the study may hold: the metrics of its
// workloads, and after them the counters of every source and monitor in the catalog.
func (s *Study) Metrics(c *Catalog) []measure.Metric {
	out := s.Results(c)
	return append(out, c.Counters()...)
}
