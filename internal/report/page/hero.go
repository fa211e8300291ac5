package page

import (
	"fmt"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
	"plimsoll/internal/report/content"
)

// hero is the answer in large figures: the measured values, and the change if there is one.
type hero struct {
	Numbers []bigNumber
	Between string // between two numbers
	Change  *bigNumber
	What    string
	Class   string
}

// bigNumber is one number of the hero, with its name in the findings.
type bigNumber struct {
	Text, ID, Value string
}

// meanFigure is the mean of an arm.
func meanFigure(s *report.Sources, metric string, arm int) (bigNumber, bool) {
	sum := s.Summary(metric, arm)
	if sum == nil {
		return bigNumber{}, false
	}
	return bigNumber{report.Amount(sum.Mean, (sum.High-sum.Low)/2, sum.Metric.Unit), fmt.Sprintf("%s@%d/mean", metric, arm), report.Exact(sum.Mean)}, true
}

func heroOf(s *report.Sources) *hero {
	f := s.Findings
	switch c := content.First(s); {
	case len(f.DataFailures) > 0:
		return nil
	case f.Tuning != nil:
		return tuningHero(s)
	case content.PeaksLead(s):
		return peakHero(s)
	case f.ScaleOut != nil:
		return scaleHero(s)
	case c != nil:
		return comparisonHero(s, c)
	}
	if names := s.Headlines(); len(names) > 0 && s.Arms() == 1 {
		if mean, ok := meanFigure(s, names[0], 0); ok {
			return &hero{Numbers: []bigNumber{mean}, What: names[0], Class: "different"}
		}
	}
	return nil
}

// comparisonHero is the baseline's value and the other arm's.
func comparisonHero(s *report.Sources, c *finding.Comparison) *hero {
	if c.Counts != nil || !content.Measured(c) {
		return nil
	}
	h := &hero{
		Between: "→", Class: chart.VerdictLook(string(c.Verdict))[0],
		What: fmt.Sprintf("%s with %s against %s", c.Metric.Name, s.Brief(c.Arm), s.Brief(0)),
	}
	if !c.NoRatio {
		h.Change = &bigNumber{report.Within(c.Ratio, c.Low, c.High), fmt.Sprintf("%s@%d/change", c.Metric.Name, c.Arm), report.Exact(c.Ratio - 1)}
	}
	if c.Verdict == finding.NotEnoughRuns {
		h.Between, h.Class = "vs", "open"
		h.What += ", not decided"
	}
	before, ok := meanFigure(s, c.Metric.Name, 0)
	after, also := meanFigure(s, c.Metric.Name, c.Arm)
	if ok && also {
		h.Numbers = []bigNumber{before, after}
	}
	return h
}

// tuningHero is what the one change that was kept brought, or how many were kept: the
// steps of several changes are not one measured gain.
func tuningHero(s *report.Sources) *hero {
	rounds := s.Findings.Tuning.Rounds
	if n := content.Kept(s.Findings.Tuning); n > 1 {
		return &hero{
			Numbers: []bigNumber{{report.Plural(n, "change", "changes"), "tuning/kept", fmt.Sprint(n)}},
			What:    "kept, each confirmed on fresh blocks", Class: "better",
		}
	}
	for i := len(rounds) - 1; i >= 0; i-- {
		r := &rounds[i]
		if r.Outcome != finding.Kept || r.Verification == nil || r.Recommendation == nil {
			continue
		}
		v, c := r.Verification, r.Recommendation.Change
		h := &hero{
			Between: "→", Class: "better",
			What:   fmt.Sprintf("%s with %s %s instead of %s, on fresh blocks", v.Metric.Name, c.Factor, c.To, c.From),
			Change: &bigNumber{report.Within(v.Ratio, v.Low, v.High), fmt.Sprintf("round:%d/change", i+1), report.Exact(v.Ratio - 1)},
		}
		if content.BeforeAfter(s, i) != "" {
			before, _ := meanFigure(s, v.Metric.Name, 0)
			after, _ := meanFigure(s, v.Metric.Name, v.Arm)
			h.Numbers = []bigNumber{before, after}
		}
		return h
	}
	return nil
}

// peakHero is the sustained rate of each arm, else the estimate of its peak.
func peakHero(s *report.Sources) *hero {
	peaks := s.Findings.Peaks
	if len(peaks) > 2 {
		return nil
	}
	h := &hero{Between: "vs", Class: "different"}
	var what []string
	for _, p := range peaks {
		name := "peak"
		if len(peaks) > 1 {
			name += " with " + s.Brief(p.Arm)
		}
		field, v := "estimate", p.Estimate
		if p.Sustained > 0 {
			field, v = "sustained", p.Sustained
			name = strings.Replace(name, "peak", "sustained", 1)
		}
		if v == 0 {
			continue
		}
		id := fmt.Sprintf("peak:%d/%s", p.Arm, field)
		h.Numbers = append(h.Numbers, bigNumber{p.Rate(v).Text, id, report.Exact(v)})
		what = append(what, name)
	}
	if len(h.Numbers) == 0 {
		return nil
	}
	h.What = strings.Join(what, ", ")
	return h
}

// scaleHero is the size at which growth stops, else the smallest and largest size.
func scaleHero(s *report.Sources) *hero {
	o := s.Findings.ScaleOut
	first, last, stop := o.Sizes[0], o.Sizes[len(o.Sizes)-1], o.Stop()
	at := func(z finding.Size) bigNumber {
		return bigNumber{report.Amount(z.Mean, (z.High-z.Low)/2, o.Metric.Unit), fmt.Sprintf("scale:%d/mean", z.Units), report.Exact(z.Mean)}
	}
	named := func(z finding.Size) string { return fmt.Sprintf("%d %s", z.Units, o.UnitsOf(z.Units)) }
	h := &hero{Numbers: []bigNumber{at(first), at(last)}, Between: "→", Class: "different"}
	h.What = fmt.Sprintf("%s with %s and %s", o.Metric.Name, named(first), named(last))
	if last.Low < last.High && stop.Units != last.Units && stop.Units != first.Units {
		h.Numbers = []bigNumber{at(first), at(stop)}
		h.What = fmt.Sprintf("%s with %s and %s; larger sizes show no significant gain", o.Metric.Name, named(first), named(stop))
	}
	return h
}
