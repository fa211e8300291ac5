package finding

import (
	"math"
	"strconv"

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
		c.searched(&p)
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

// searched takes over what a whole search answered where it found no estimate, or a sharp
// limit: it knows of all its probes, not of the ladder alone.
func (c *Case) searched(p *Peak) {
	var only *measure.Peak
	n := 0
	for i := range c.view.records {
		if r := &c.view.records[i]; r.Arm == p.Arm && r.Valid() && r.Peak != nil {
			only, n = r.Peak, n+1
		}
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

// Value is a number of the peak by its name in sentences.
func (p *Peak) Value(field string) (v float64, ok bool) {
	v, ok = map[string]float64{"estimate": p.Estimate, "low": p.Low, "high": p.High, "sustained": p.Sustained, "pass": p.MaxPass, "fail": p.MinFail}[field]
	return v, ok && v > 0
}

// Text writes a rate of the peak with the digits that the interval of the estimate
// bears.
func (p *Peak) Text(rate float64) string {
	if p.Estimate == 0 {
		return Measured(rate, rate, rate, measure.PeakMetric().Unit)
	}
	return Measured(rate, rate-(p.High-p.Low)/2, rate+(p.High-p.Low)/2, measure.PeakMetric().Unit)
}

// peakText is a number of the peak of an arm.
func (f *Findings) peakText(arm, field string) (string, bool) {
	for i := range f.Peaks {
		if p := &f.Peaks[i]; strconv.Itoa(p.Arm) == arm {
			v, ok := p.Value(field)
			return p.Text(v), ok
		}
	}
	return "", false
}

// sayPeaks writes the sentence of each peak.
func (f *Findings) sayPeaks() {
	text := newLedger(f).text
	for i := range f.Peaks {
		p := &f.Peaks[i]
		s := scene{
			names:  map[string]string{"arm": f.label(p.Arm), "word": p.Word, "limit": p.Limiting},
			prefix: "peak:" + strconv.Itoa(p.Arm), text: text,
		}
		template := "No rate was shown to be sustained with {arm}: {word}"
		switch {
		case p.Sustained == 0 && p.Estimate == 0 && p.Why != "":
			s.names["why"] = p.Why
			template = "No rate is sustained with {arm}: {why}"
		case p.Sustained > 0 && p.Step:
			template = "{sustained} is sustained with {arm}: it passed every confirmation run; {high} failed every time ({limit}), and the limit lies between {low} and {high}"
		case p.Sustained > 0 && p.Estimate > 0:
			template = "{sustained} is sustained with {arm}: it passed every confirmation run; the limit on {limit} is met at {estimate}, between {low} and {high} at {study/level} confidence"
		case p.Sustained > 0:
			template = "At least {sustained} is sustained with {arm}: it passed every confirmation run; the peak itself was not estimated ({word})"
		case p.Estimate > 0:
			template = "The limit on {limit} is met at {estimate} with {arm}, between {low} and {high} at {study/level} confidence; no confirmation run was completed"
		}
		if p.Sustained == 0 && p.Estimate == 0 {
			template += p.probed()
		}
		p.Sentence, p.Numbers = s.compose(template + ".")
	}
}

// probed says what single probes did, where they are all that there is.
func (p *Peak) probed() string {
	switch {
	case p.MaxPass > 0 && p.MinFail > 0:
		return ". Single probes passed at up to {pass} and failed at as little as {fail}"
	case p.MaxPass > 0:
		return ". Single probes passed at up to {pass}"
	case p.MinFail > 0:
		return ". Single probes failed at as little as {fail}"
	}
	return ""
}

// peakNames adds what the sentences of the peaks name.
func (f *Findings) peakNames(seen map[string]bool) {
	for _, p := range f.Peaks {
		seen[p.Limiting], seen[p.Why] = true, true
	}
}
