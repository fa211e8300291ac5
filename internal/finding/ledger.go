package finding

import (
	"strconv"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/quantity"
	"plimsoll/internal/sentence"
	"plimsoll/internal/stat"
)

// Ledger finds the numbers of findings by their names:
//
//	METRIC@ARM/FIELD      change, low, high, level, blocks, least, more, reach (a margin),
//	                      reach blocks, failed, of, bound,
//	                      base.failed, base.of, base.bound of a comparison;
//	                      mean, from, to, trials of a summary
//	rule:RULE@ARM/NAME    evidence of an explanation; from, to of its change
//	gain:RULE@ARM/FIELD   low, high of the gain that the explanation predicts
//	account:ID@ARM/TERM   change by a term of an account, or of the whole; the part that it
//	                      covers as "TERM share"
//	intervention:N/FIELD  see Intervention.Number; N counts from 1
//	round:NUMBER/FIELD    change, low, high, blocks, bound, level, from, to of a round of
//	                      tuning; the numbers count from 1
//	peak:ARM/FIELD        estimate, low, high, sustained of the peak of an arm
//	scale:UNITS/FIELD     units, trials, mean, low, high, efficiency, efficiency low,
//	                      efficiency high of a size of the scale-out
//	scale:law/FIELD       lambda, sigma, kappa, peak, rate (at the peak) and reach rate, each
//	                      also with low and high; reach, miss
//	study/FIELD           margin, level, summary level, blocks, planned, trials, least
type Ledger struct {
	findings     *Findings
	comparisons  map[string]*Comparison
	summaries    map[string]*Summary
	explanations map[string]*Explanation
	accounts     map[string]*Account
}

// NewLedger reads findings, which must not change afterwards.
func NewLedger(f *Findings) *Ledger {
	l := &Ledger{f, map[string]*Comparison{}, map[string]*Summary{}, map[string]*Explanation{}, map[string]*Account{}}
	for i := range f.Accounts {
		l.accounts[Key(f.Accounts[i].Identity, f.Accounts[i].Arm)] = &f.Accounts[i]
	}
	for _, list := range [][]Comparison{f.Exploratory, f.Headlines} { // headlines last, since they take precedence
		for i := range list {
			l.comparisons[Key(list[i].Metric.Name, list[i].Arm)] = &list[i]
		}
	}
	for i := range f.Summaries {
		l.summaries[Key(f.Summaries[i].Metric.Name, f.Summaries[i].Arm)] = &f.Summaries[i]
	}
	for i := range f.Explanations {
		l.explanations[Key(f.Explanations[i].Rule, f.Explanations[i].Arm)] = &f.Explanations[i]
	}
	return l
}

// Key names a metric, or a rule, of an arm: "iops@1".
func Key(name string, arm int) string { return name + "@" + strconv.Itoa(arm) }

// Summary is the summary of a metric of an arm; nil if there is none.
func (l *Ledger) Summary(metric string, arm int) *Summary { return l.summaries[Key(metric, arm)] }

// Number is the number of that name as sentences print it; ok is false for an unknown name.
func (l *Ledger) Number(id string) (n sentence.Number, ok bool) {
	cut := strings.LastIndex(id, "/")
	if cut < 0 {
		return n, false
	}
	what, field := id[:cut], id[cut+1:]
	if kind, of, found := strings.Cut(what, ":"); found {
		switch kind {
		case "rule":
			return l.explanations[of].Number(field)
		case "gain":
			if e := l.explanations[of]; e != nil {
				return e.Gain.number(field)
			}
			return n, false
		case "account":
			return l.accounts[of].Number(field)
		case "intervention":
			return l.findings.intervention(of, field)
		case "round":
			return l.findings.Tuning.number(of, field)
		case "peak":
			return l.findings.peak(of).Number(field)
		case "scale":
			return l.findings.ScaleOut.Number(of, field)
		}
	}
	if what == "study" {
		return l.findings.number(field)
	}
	if n, ok := l.summaries[what].number(field); ok {
		return n, true
	}
	return l.comparisons[what].Number(field)
}

func whole(n int) sentence.Number {
	return sentence.Number{Text: quantity.Count(n), Value: float64(n), Unit: "1"}
}

func share(v float64) sentence.Number {
	return sentence.Number{Text: quantity.Share(v), Value: v, Unit: "share"}
}

func measured(value, low, high float64, unit string) sentence.Number {
	return sentence.Number{Text: quantity.Measured(value, low, high, unit), Value: value, Unit: unit}
}

// change is a ratio minus 1, with the precision of the interval from low to high.
func change(ratio, low, high float64) sentence.Number {
	return sentence.Number{Text: quantity.PercentWithin(ratio, low, high), Value: ratio - 1, Unit: "change"}
}

// bound is the upper bound of the failure rate after n operations without a failure, by the
// rule of three.
func bound(n int64) sentence.Number {
	return sentence.Number{Text: "3/" + quantity.Count(int(n)), Value: stat.ZeroFailuresBound(n), Unit: "share"}
}

// fields are the numbers of something by their names.
type fields map[string]sentence.Number

func (f fields) number(field string) (sentence.Number, bool) {
	n, ok := f[field]
	return n, ok
}

func (f *Findings) number(field string) (sentence.Number, bool) {
	return fields{
		"margin": share(f.Margin), "level": share(f.Level), "summary level": share(SummaryLevel),
		"blocks": whole(f.Blocks), "planned": whole(f.Planned), "trials": whole(f.Trials), "least": whole(f.Least),
	}.number(field)
}

func (s *Summary) number(field string) (n sentence.Number, ok bool) {
	if s == nil {
		return n, false
	}
	of := func(v float64) sentence.Number { return measured(v, s.Low, s.High, s.Metric.Unit) }
	return fields{"mean": of(s.Mean), "from": of(s.Low), "to": of(s.High), "trials": whole(s.Trials)}.number(field)
}

// Number is a number of the comparison by its field.
func (c *Comparison) Number(field string) (n sentence.Number, ok bool) {
	if c == nil {
		return n, false
	}
	of := func(ratio float64) sentence.Number { return change(ratio, c.Low, c.High) }
	all := fields{
		"change": of(c.Ratio), "low": of(c.Low), "high": of(c.High), "level": share(c.Level),
		"blocks": whole(c.Blocks), "more": whole(c.More),
	}
	if c.Least > 0 {
		all["least"] = whole(c.Least)
	}
	if c.Reach != nil {
		all["reach"] = sentence.Number{Text: quantity.Share(quantity.Round(c.Reach.Margin, 2)), Value: c.Reach.Margin, Unit: "share"}
		all["reach blocks"] = whole(c.Reach.Blocks)
	}
	if n, ok := all.number(field); ok {
		return n, true
	}
	return c.Counts.number(field)
}

func (c *Counts) number(field string) (n sentence.Number, ok bool) {
	if c == nil {
		return n, false
	}
	return fields{
		"failed": whole(int(c.Failed)), "of": whole(int(c.Operations)), "bound": bound(c.Operations),
		"base.failed": whole(int(c.BaselineFailed)), "base.of": whole(int(c.BaselineOperations)), "base.bound": bound(c.BaselineOperations),
	}.number(field)
}

// Number is a piece of evidence by its name, or an end of the change.
func (e *Explanation) Number(field string) (n sentence.Number, ok bool) {
	if e == nil {
		return n, false
	}
	if n, ok := e.Change.number(field); ok {
		return n, true
	}
	for _, x := range e.Evidence {
		if x.Name == field {
			return sentence.Number{Text: quantity.Of(x.Value, x.Unit), Value: x.Value, Unit: x.Unit}, true
		}
	}
	return n, false
}

// number is a level, which has no unit.
func (c *Change) number(field string) (n sentence.Number, ok bool) {
	if c == nil {
		return n, false
	}
	return fields{"from": {Text: c.From}, "to": {Text: c.To}}.number(field)
}

func (g *Gain) number(field string) (n sentence.Number, ok bool) {
	if g == nil {
		return n, false
	}
	of := func(v float64) sentence.Number {
		return sentence.Number{Text: quantity.Percent(v), Value: v, Unit: "change"}
	}
	return fields{"low": of(g.Low), "high": of(g.High)}.number(field)
}

func (t *Tuning) number(round, field string) (n sentence.Number, ok bool) {
	at, err := strconv.Atoi(round)
	if t == nil || err != nil || at < 1 || at > len(t.Rounds) {
		return n, false
	}
	r := &t.Rounds[at-1]
	if r.Recommendation != nil {
		if n, ok := r.Recommendation.Change.number(field); ok {
			return n, true
		}
	}
	switch {
	case r.Verification == nil:
		return n, false
	case field == "bound":
		return change(r.BoundRatio(), r.Verification.Low, r.Verification.High), true
	case field == "level":
		return share(r.BoundLevel), true
	}
	return r.Verification.Number(field)
}

func (f *Findings) peak(arm string) *Peak {
	for i := range f.Peaks {
		if strconv.Itoa(f.Peaks[i].Arm) == arm {
			return &f.Peaks[i]
		}
	}
	return nil
}

// Number is a rate of the peak by its field, with the precision of the estimate's interval.
func (p *Peak) Number(field string) (n sentence.Number, ok bool) {
	if p == nil {
		return n, false
	}
	v := map[string]float64{"estimate": p.Estimate, "low": p.Low, "high": p.High, "sustained": p.Sustained, "pass": p.MaxPass, "fail": p.MinFail}[field]
	return p.Rate(v), v > 0
}

// Rate formats a rate with the precision of the estimate's interval.
func (p *Peak) Rate(v float64) sentence.Number {
	half := 0.0
	if p.Estimate > 0 {
		half = (p.High - p.Low) / 2
	}
	return measured(v, v-half, v+half, measure.PeakMetric().Unit)
}
