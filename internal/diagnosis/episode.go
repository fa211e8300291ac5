package diagnosis

import (
	"cmp"
	"slices"

	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/trace"
)

const (
	// leastHeld is the share of the intervals in which a condition that the mean hides must hold.
	leastHeld = 0.2
	// leastIntervals is their least number: single seconds are noise.
	leastIntervals = 6
	// leastHurt is the impact over the whole time, from which on it is worth a finding.
	leastHurt = 0.03
)

// episodes are the findings of a rule about a part of the time, where the mean shows nothing:
// the subject with the largest impact, judged over the intervals in which the rule found it.
func episodes(e *Evidence, r Rule) []Finding {
	held := map[string][]hoststat.Interval{}
	for n := range e.Intervals {
		i := e.Intervals[n]
		for _, f := range r.Check(e.during([]hoststat.Interval{i}, &i)) {
			if list := held[f.Subject]; len(list) == 0 || list[len(list)-1].At != i.At {
				held[f.Subject] = append(list, i)
			}
		}
	}
	var best []Finding
	for subject, list := range held {
		share := float64(len(list)) / float64(len(e.Intervals))
		if share < leastHeld || len(list) < leastIntervals {
			continue
		}
		found := r.Check(e.during(list, trace.Combine(list)))
		at := slices.IndexFunc(found, func(f Finding) bool { return f.Subject == subject })
		if at < 0 || found[at].Impact*share < leastHurt {
			continue
		}
		f := found[at]
		f.Impact *= share
		f.Says += " This held for {of the time} of the time."
		f.Evidence = append(f.Evidence, Fact{Name: "of the time", Value: share, Unit: "share"})
		if f.Prediction != nil {
			p := *f.Prediction
			p.Low, p.High = p.Low*share, p.High*share
			f.Prediction = &p
		}
		best = append(best, f)
	}
	slices.SortFunc(best, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Impact, a.Impact), cmp.Compare(a.Subject, b.Subject))
	})
	return best[:min(1, len(best))]
}

// during is the evidence of some of the intervals.
func (e *Evidence) during(list []hoststat.Interval, mean *hoststat.Interval) *Evidence {
	part := *e
	part.Recording = hoststat.Recording{Facts: e.Facts, Mean: mean, Intervals: list}
	return &part
}
