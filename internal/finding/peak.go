package finding

import (
	"math"

	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/plan/peak"
)

// confirmed is how many probes must all have kept the limits before a rate is
// claimed.
const confirmed = 3

// peaks fits the ladders of each arm together: all trials of an arm search for the
// same peak.
func (c *Case) peaks() []Peak {
	asked := c.Study.Load.Peak
	if asked == nil {
		return nil
	}
	var out []Peak
	for arm := range c.view.arms {
		p := Peak{Arm: arm, Peak: measure.Peak{Word: string(peak.NotIdentified)}}
		best := math.Inf(1)
		for _, l := range asked.Within {
			if _, ok := measure.QuantileOf(l.Metric); !ok {
				continue
			}
			points := plan.LadderPoints(c.view.records, arm, l.Metric)
			p.Probes = max(p.Probes, len(points))
			fit := peak.Estimate(points, *l.Max, c.Plan.Level)
			if fit.Word != peak.Identified {
				p.Why = fit.Why
				continue
			}
			if fit.Rate < best {
				best = fit.Rate
				p.Word, p.Limiting, p.Why = string(fit.Word), l.Metric, ""
				p.Estimate, p.Low, p.High = fit.Rate, fit.Low, fit.High
			}
		}
		c.sustained(&p)
		out = append(out, p)
	}
	return out
}

// sustained finds the rate that may be claimed: the highest such that so many
// confirming probes at it or above kept the limits, and none at it or below failed.
func (c *Case) sustained(p *Peak) {
	var kept []float64
	lowestFailed := math.Inf(1)
	words := map[string]int{}
	for i := range c.view.records {
		r := &c.view.records[i]
		if r.Arm != p.Arm || !r.Valid() {
			continue
		}
		if r.Peak != nil {
			words[r.Peak.Word]++
			p.Sustained = math.Max(p.Sustained, r.Peak.Sustained)
		}
		for _, probe := range r.Probes {
			switch {
			case probe.Invalid:
			case probe.Passed:
				p.MaxPass = math.Max(p.MaxPass, probe.Rate)
			case p.MinFail == 0 || probe.Rate < p.MinFail:
				p.MinFail = probe.Rate
			}
			if probe.Phase != string(peak.Confirm) || probe.Invalid {
				continue
			}
			if probe.Passed {
				kept = append(kept, probe.Rate)
			} else {
				lowestFailed = math.Min(lowestFailed, probe.Rate)
			}
		}
	}
	p.agree(words)
	for _, rate := range kept {
		n := 0
		for _, other := range kept {
			if other >= rate {
				n++
			}
		}
		if n >= confirmed && rate < lowestFailed {
			p.Sustained = math.Max(p.Sustained, rate)
		}
	}
}

// agree takes over the word of the trials where all of them found the same instead
// of a peak.
func (p *Peak) agree(words map[string]int) {
	if p.Word == string(peak.Identified) || len(words) != 1 {
		return
	}
	for word := range words {
		if word != string(peak.Identified) && word != string(peak.Bracketed) {
			p.Word = word
		}
	}
}
