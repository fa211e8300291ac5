// Package capacity computes the capacity of an arm: the peaks of searches, and scale-out.
package capacity

import (
	"math"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/table"
	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/plan/peak"
)

// confirmed is the number of probes that must all meet the limits before a rate is claimed.
const confirmed = 3

// Peaks fits the ladders of each arm: all trials of an arm search for the same peak.
func Peaks(t *table.Table) []finding.Peak {
	asked := t.Study.Load.Peak
	if asked == nil {
		return nil
	}
	var out []finding.Peak
	for arm := range t.Arms {
		p := finding.Peak{Arm: arm, Peak: measure.Peak{Word: string(peak.NotIdentified)}}
		best := math.Inf(1)
		for _, l := range asked.Within {
			if _, ok := measure.QuantileOf(l.Metric); !ok {
				continue
			}
			points := plan.LadderPoints(t.Records, arm, l.Metric)
			p.Probes = max(p.Probes, len(points))
			fit := peak.Estimate(points, *l.Max, t.Plan.Level)
			switch {
			case fit.Word != peak.Identified && math.IsInf(best, 1):
				p.Why = fit.Why
			case fit.Word == peak.Identified && fit.Rate < best:
				best = fit.Rate
				p.Word, p.Limiting, p.Why = string(fit.Word), l.Metric, fit.LeftOut()
				p.Estimate, p.Low, p.High = fit.Rate, fit.Low, fit.High
			}
		}
		sustained(t, &p)
		searched(t, &p)
		out = append(out, p)
	}
	return out
}

// sustained finds the rate that may be claimed: the highest such that so many
// confirming probes at it or above kept the limits, and none at it or below failed.
func sustained(t *table.Table, p *finding.Peak) {
	var kept []float64
	lowestFailed := math.Inf(1)
	words := map[string]int{}
	for i := range t.Records {
		r := &t.Records[i]
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
	agree(p, words)
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

// searched takes over the result of a single search if the fit found no estimate, or a sharp
// limit: the search knows all its probes.
func searched(t *table.Table, p *finding.Peak) {
	var only *measure.Peak
	n := 0
	for i := range t.Records {
		if r := &t.Records[i]; r.Arm == p.Arm && r.Valid() && r.Peak != nil {
			only, n = r.Peak, n+1
		}
	}
	if n == 0 {
		p.Why = "no search was completed"
	}
	if n != 1 {
		return
	}
	p.Stalling = only.Stalling
	if p.Word == string(peak.Identified) && only.Word == p.Word && !only.Step {
		p.Why = only.Why
		return
	}
	p.Word, p.Why, p.Limiting = only.Word, only.Why, only.Limiting
	p.Estimate, p.Low, p.High, p.Step = only.Estimate, only.Low, only.High, only.Step
}

// agree takes over the reason of the trials if all have the same one.
func agree(p *finding.Peak, words map[string]int) {
	if p.Word == string(peak.Identified) || len(words) != 1 {
		return
	}
	for word := range words {
		if word != string(peak.Identified) && word != string(peak.Bracketed) {
			p.Word = word
		}
	}
}
