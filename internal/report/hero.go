package report

import (
	"fmt"
	"strings"

	"plimsoll/internal/finding"
)

// hero is the answer in large figures: what was measured, and the change where there
// is one.
type hero struct {
	Numbers []figure
	Between string // stands between two numbers
	Change  *figure
	What    string
	Class   string
}

// figure is one number of the hero, with the name of where it is from.
type figure struct {
	Text, ID, Value string
}

// meanFigure is the mean of an arm.
func (s *sources) meanFigure(metric string, arm int) (figure, bool) {
	sum := s.sum(metric, arm)
	if sum == nil {
		return figure{}, false
	}
	return figure{amount(sum.Mean, (sum.High-sum.Low)/2, sum.Metric.Unit), fmt.Sprintf("%s@%d/mean", metric, arm), exact(sum.Mean)}, true
}

func (s *sources) hero() *hero {
	f := s.Findings
	switch c := s.first(); {
	case len(f.DataFailures) > 0:
		return nil
	case f.Tuning != nil:
		return s.tuningHero()
	case s.peaksLead():
		return s.peakHero()
	case f.ScaleOut != nil:
		return s.scaleHero()
	case c != nil:
		return s.comparisonHero(c)
	}
	if names := s.headlines(); len(names) > 0 && s.arms() == 1 {
		if mean, ok := s.meanFigure(names[0], 0); ok {
			return &hero{Numbers: []figure{mean}, What: names[0], Class: "different"}
		}
	}
	return nil
}

// comparisonHero is the baseline's value and the other arm's.
func (s *sources) comparisonHero(c *finding.Comparison) *hero {
	if c.Counts != nil || !compared(c) {
		return nil
	}
	h := &hero{
		Between: "→", Class: verdictLook(string(c.Verdict))[0],
		What:   fmt.Sprintf("%s with %s against %s", c.Metric.Name, s.brief(c.Arm), s.brief(0)),
		Change: &figure{within(c.Ratio, c.Low, c.High), fmt.Sprintf("%s@%d/change", c.Metric.Name, c.Arm), exact(c.Ratio - 1)},
	}
	if c.Verdict == finding.NotEnoughRuns {
		h.Between, h.Class = "vs", "open"
		h.What += ", not decided"
	}
	before, ok := s.meanFigure(c.Metric.Name, 0)
	after, also := s.meanFigure(c.Metric.Name, c.Arm)
	if ok && also {
		h.Numbers = []figure{before, after}
	}
	return h
}

// tuningHero is what the one change that was kept brought, or how many were kept: the
// steps of several changes are not one measured gain.
func (s *sources) tuningHero() *hero {
	rounds := s.Findings.Tuning.Rounds
	if n := kept(s.Findings.Tuning); n > 1 {
		return &hero{
			Numbers: []figure{{plural(n, "change", "changes"), "tuning/kept", fmt.Sprint(n)}},
			What:    "kept, each after fresh blocks showed that it helps", Class: "better",
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
			Change: &figure{within(v.Ratio, v.Low, v.High), fmt.Sprintf("round:%d/change", i+1), exact(v.Ratio - 1)},
		}
		if s.beforeAfter(i) != "" {
			before, _ := s.meanFigure(v.Metric.Name, 0)
			after, _ := s.meanFigure(v.Metric.Name, v.Arm)
			h.Numbers = []figure{before, after}
		}
		return h
	}
	return nil
}

// peakHero is the rate that each arm sustained, else the estimate of its peak.
func (s *sources) peakHero() *hero {
	peaks := s.Findings.Peaks
	if len(peaks) > 2 {
		return nil
	}
	h := &hero{Between: "vs", Class: "different"}
	var what []string
	for _, p := range peaks {
		name := "peak"
		if len(peaks) > 1 {
			name += " with " + s.brief(p.Arm)
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
		h.Numbers = append(h.Numbers, figure{p.Rate(v).Text, id, exact(v)})
		what = append(what, name)
	}
	if len(h.Numbers) == 0 {
		return nil
	}
	h.What = strings.Join(what, ", ")
	return h
}

// scaleHero is the size from which nothing grows, else the ends of the growth.
func (s *sources) scaleHero() *hero {
	o := s.Findings.ScaleOut
	first, last, stop := o.Sizes[0], o.Sizes[len(o.Sizes)-1], o.Stop()
	at := func(z finding.Size) figure {
		return figure{amount(z.Mean, (z.High-z.Low)/2, o.Metric.Unit), fmt.Sprintf("scale:%d/mean", z.Units), exact(z.Mean)}
	}
	named := func(z finding.Size) string { return fmt.Sprintf("%d %s", z.Units, o.UnitsOf(z.Units)) }
	h := &hero{Numbers: []figure{at(first), at(last)}, Between: "→", Class: "different"}
	h.What = fmt.Sprintf("%s with %s and %s", o.Metric.Name, named(first), named(last))
	if last.Low < last.High && stop.Units != last.Units && stop.Units != first.Units {
		h.Numbers = []figure{at(first), at(stop)}
		h.What = fmt.Sprintf("%s with %s and %s; no larger size is shown to carry more", o.Metric.Name, named(first), named(stop))
	}
	return h
}
