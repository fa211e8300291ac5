// Package rule has the published rules that tell from a ramp, in which desktop sessions join one by one, how many sessions a
// system carries. It is pure: times are in seconds, and samples come in the order in which they were measured.
package rule

import (
	"math"
	"slices"
	"time"
)

// Sample is a response and the number of sessions that were active when it was measured.
type Sample struct {
	Sessions int     // at least 1
	Response float64 // s
}

// Rule is a published rule: a baseline, a limit that follows from it, and a trimmed moving average that is held against the
// limit.
type Rule struct {
	Name     string // of its metrics, such as "v41"
	Title    string // such as "4.1 rule"
	baseline func(base []float64, samples []Sample) (seconds float64, ok bool)
	factor   float64 // of the baseline, in the limit
	above    float64 // the baseline times the factor, in the limit, s
	trim     int     // percent of the window that is left out at each end
}

// All are the rules, the most recent first.
//
// The rule of version 4.1 takes the mean of 13 responses as its baseline: the 15 lowest without the lowest two. Version 4.0 has
// the responses of a base phase without the lowest 2 and the highest 15, or the lowest 30 of the first 200 without the lowest 2
// and the highest 15. Version 3 has the mean of the first 15 sessions, and a limit of 1.25 times the baseline and 3 s.
func All() []Rule {
	return []Rule{
		{Name: "v41", Title: "4.1 rule", baseline: lowest15, factor: 1, above: 1, trim: 5},
		{Name: "v40", Title: "4.0 rule", baseline: lowestOfFirst, factor: 1, above: 1, trim: 5},
		{Name: "v3", Title: "3 rule", baseline: firstSessions, factor: 1.25, above: 3, trim: 2},
	}
}

// Answer is how many sessions a rule says that a system carries.
type Answer struct {
	Judged   bool    // there were samples enough for the baseline and one average
	Baseline float64 // s
	Limit    float64 // s
	Reached  bool    // an average exceeded the limit
	Sessions int     // one less than were active at the first such average; without one, the most that were active
	Average  float64 // the first that exceeded the limit, or else the last, s
}

// Judge applies the rule. Base are the responses of a base phase with one session, nil without one: a small system is loaded
// before there are samples enough for a baseline, which is then too high.
func (r Rule) Judge(base []float64, samples []Sample) Answer {
	var a Answer
	var ok bool
	if a.Baseline, ok = r.baseline(base, samples); !ok {
		return a
	}
	a.Limit = r.factor*a.Baseline + r.above
	for i, s := range samples {
		w := window(s.Sessions)
		if i+1 < w {
			continue
		}
		a.Judged, a.Average = true, trimmed(samples[i+1-w:i+1], r.trim)
		if a.Average > a.Limit+rounding {
			a.Reached, a.Sessions = true, max(0, s.Sessions-1)
			return a
		}
		a.Sessions = max(a.Sessions, s.Sessions)
	}
	return a
}

// rounding is what sums of seconds may be off.
const rounding = 1e-9

// window is how many samples an average has with so many active sessions: 5 and 40 % of them. The vendor's example has 31 for
// 60 sessions, where this formula, which is the vendor's as well, has 29.
func window(sessions int) int { return 5 + 2*sessions/5 }

// trimmed is the mean without a percentage at each end, rounded half up, and at least without one sample each.
func trimmed(samples []Sample, percent int) float64 {
	responses := make([]float64, len(samples))
	for i, s := range samples {
		responses[i] = s.Response
	}
	slices.Sort(responses)
	cut := max(1, (percent*len(responses)+50)/100)
	return mean(responses[cut : len(responses)-cut])
}

const (
	fewest   = 15  // lowest samples of the baseline, and samples of a base phase
	outliers = 2   // lowest samples left out
	early    = 200 // samples among which version 4.0 looks for the lowest
	calm     = 30  // of those
)

// lowest15 is the baseline of version 4.1.
func lowest15(base []float64, samples []Sample) (float64, bool) {
	if base == nil {
		base = responses(samples)
	}
	if len(base) < fewest {
		return 0, false
	}
	return Baseline(base), true
}

// Baseline is the mean of the 15 lowest values without the lowest two, as in the 4.1 rule; with fewer than 15, of what there is
// beyond two. It is NaN for none.
func Baseline(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	sorted = sorted[:min(fewest, len(sorted))]
	if len(sorted) > outliers {
		sorted = sorted[outliers:]
	}
	return mean(sorted)
}

// lowestOfFirst is the baseline of version 4.0.
func lowestOfFirst(base []float64, samples []Sample) (float64, bool) {
	if len(base) > outliers+fewest {
		base = slices.Sorted(slices.Values(base))
		return mean(base[outliers : len(base)-fewest]), true
	}
	first := responses(samples)
	first = slices.Sorted(slices.Values(first[:min(early, len(first))]))
	if len(first) < calm {
		return 0, false
	}
	return mean(first[outliers : calm-fewest]), true
}

// firstSessions is the baseline of version 3.
func firstSessions(base []float64, samples []Sample) (float64, bool) {
	if len(base) > 0 {
		return mean(base), true
	}
	var of []float64
	for _, s := range samples {
		if s.Sessions <= fewest {
			of = append(of, s.Response)
		}
	}
	return mean(of), len(of) > 0
}

func responses(samples []Sample) []float64 {
	all := make([]float64, len(samples))
	for i, s := range samples {
		all[i] = s.Response
	}
	return all
}

func mean(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sum := 0.
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// Corrected is an index without sessions that were lost, and half of those that were stuck, as version 3 corrects it.
func Corrected(sessions, stuck, lost int) float64 {
	return max(0, float64(sessions)-float64(stuck)/2-float64(lost))
}

// Lag estimates by how many sessions a ramp overstates what a system carries. The average at n sessions holds the samples of
// (5 + 0.4 n) * period / n, with the period between two samples of a session, and so is as old as half of that on average, while
// a session joins after every gap.
func Lag(sessions int, period, gap time.Duration) float64 {
	if sessions < 1 || gap <= 0 {
		return 0
	}
	return float64(window(sessions)) / float64(sessions) * period.Seconds() / 2 / gap.Seconds()
}
