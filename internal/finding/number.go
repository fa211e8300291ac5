package finding

import (
	"strconv"
	"strings"
)

// ledger finds the numbers of findings by their names:
//
//	METRIC@ARM/FIELD      change, low, high, level, blocks, least, more, reach (a margin),
//	                      reach blocks, failed, of, bound,
//	                      base.failed, base.of, base.bound of a comparison;
//	                      mean, from, to, trials of a summary
//	rule:RULE@ARM/NAME    evidence of an explanation; from, to of its change
//	gain:RULE@ARM/FIELD   low, high of the gain that the explanation predicts
//	round:NUMBER/FIELD    change, low, high, blocks, bound, level, from, to of a round of
//	                      tuning; the numbers count from 1
//	peak:ARM/FIELD        estimate, low, high, sustained of the peak of an arm
//	scale:UNITS/FIELD     units, trials, mean, low, high, efficiency, efficiency low,
//	                      efficiency high of a size of the scale-out
//	scale:law/FIELD       lambda, sigma, kappa, peak, rate (at the peak) and reach rate, each
//	                      also with low and high; reach, miss
//	study/FIELD           margin, level, blocks, planned, trials, least
type ledger struct {
	findings     *Findings
	comparisons  map[string]*Comparison
	summaries    map[string]*Summary
	explanations map[string]*Explanation
}

func newLedger(f *Findings) *ledger {
	l := &ledger{f, map[string]*Comparison{}, map[string]*Summary{}, map[string]*Explanation{}}
	for _, list := range [][]Comparison{f.Exploratory, f.Headlines} { // headlines last: they win
		for i := range list {
			l.comparisons[place(list[i].Metric.Name, list[i].Arm)] = &list[i]
		}
	}
	for i := range f.Summaries {
		l.summaries[place(f.Summaries[i].Metric.Name, f.Summaries[i].Arm)] = &f.Summaries[i]
	}
	for i := range f.Explanations {
		l.explanations[place(f.Explanations[i].Rule, f.Explanations[i].Arm)] = &f.Explanations[i]
	}
	return l
}

func place(name string, arm int) string { return name + "@" + strconv.Itoa(arm) }

// text is the number as it must stand in a sentence; ok is false for a name that
// these findings do not have.
func (l *ledger) text(id string) (text string, ok bool) {
	cut := strings.LastIndex(id, "/")
	if cut < 0 {
		return "", false
	}
	what, field := id[:cut], id[cut+1:]
	if rule, found := strings.CutPrefix(what, "rule:"); found {
		if e := l.explanations[rule]; e != nil {
			return e.text(field)
		}
		return "", false
	}
	if rule, found := strings.CutPrefix(what, "gain:"); found {
		if e := l.explanations[rule]; e != nil && e.Gain != nil {
			return e.Gain.text(field)
		}
		return "", false
	}
	if number, found := strings.CutPrefix(what, "round:"); found && l.findings.Tuning != nil {
		if n, err := strconv.Atoi(number); err == nil && n >= 1 && n <= len(l.findings.Tuning.Rounds) {
			return l.findings.Tuning.Rounds[n-1].text(field)
		}
		return "", false
	}
	if arm, found := strings.CutPrefix(what, "peak:"); found {
		return l.findings.peakText(arm, field)
	}
	if size, found := strings.CutPrefix(what, "scale:"); found {
		return l.findings.ScaleOut.text(size, field)
	}
	if what == "study" {
		return l.findings.text(field)
	}
	if s := l.summaries[what]; s != nil {
		if text, ok := s.text(field); ok {
			return text, true
		}
	}
	if c := l.comparisons[what]; c != nil {
		return c.text(field)
	}
	return "", false
}

func (f *Findings) text(field string) (string, bool) {
	switch field {
	case "margin":
		return Share(f.Margin), true
	case "level":
		return Share(f.Level), true
	case "blocks":
		return counted(f.Blocks), true
	case "planned":
		return counted(f.Planned), true
	case "trials":
		return counted(f.Trials), true
	case "least":
		return counted(f.Least), true
	case "summary level":
		return Share(summaryLevel), true
	}
	return "", false
}

func (s *Summary) text(field string) (string, bool) {
	switch field {
	case "mean":
		return Measured(s.Mean, s.Low, s.High, s.Metric.Unit), true
	case "from":
		return Measured(s.Low, s.Low, s.High, s.Metric.Unit), true
	case "to":
		return Measured(s.High, s.Low, s.High, s.Metric.Unit), true
	case "trials":
		return counted(s.Trials), true
	}
	return "", false
}

func (c *Comparison) text(field string) (string, bool) {
	switch field {
	case "change":
		return PercentWithin(c.Ratio, c.Low, c.High), true
	case "low":
		return PercentWithin(c.Low, c.Low, c.High), true
	case "high":
		return PercentWithin(c.High, c.Low, c.High), true
	case "blocks":
		return counted(c.Blocks), true
	case "more":
		return counted(c.More), true
	case "level":
		return Share(c.Level), true
	case "least":
		return counted(c.Least), c.Least > 0
	}
	if c.Reach != nil && field == "reach" {
		return Share(roundTo(c.Reach.Margin, 2)), true
	}
	if c.Reach != nil && field == "reach blocks" {
		return counted(c.Reach.Blocks), true
	}
	if c.Counts == nil {
		return "", false
	}
	n := c.Counts
	switch field {
	case "failed":
		return counted(int(n.Failed)), true
	case "of":
		return counted(int(n.Operations)), true
	case "bound":
		return bound(n.Operations), true
	case "base.failed":
		return counted(int(n.BaselineFailed)), true
	case "base.of":
		return counted(int(n.BaselineOperations)), true
	case "base.bound":
		return bound(n.BaselineOperations), true
	}
	return "", false
}

// bound is the share of failures that n operations without one still allow, by the
// rule of three.
func bound(n int64) string { return "3/" + counted(int(n)) }

func (e *Explanation) text(field string) (string, bool) {
	switch {
	case e.Change != nil && field == "from":
		return e.Change.From, true
	case e.Change != nil && field == "to":
		return e.Change.To, true
	}
	for _, x := range e.Evidence {
		if x.Name == field {
			return Quantity(x.Value, x.Unit), true
		}
	}
	return "", false
}

func (g *Gain) text(field string) (string, bool) {
	switch field {
	case "low":
		return Percent(g.Low), true
	case "high":
		return Percent(g.High), true
	}
	return "", false
}

func (r *Round) text(field string) (string, bool) {
	switch {
	case r.Recommendation != nil && field == "from":
		return r.Recommendation.Change.From, true
	case r.Recommendation != nil && field == "to":
		return r.Recommendation.Change.To, true
	case r.Verification == nil:
		return "", false
	case field == "bound":
		return PercentWithin(r.BoundRatio(), r.Verification.Low, r.Verification.High), true
	case field == "level":
		return Share(r.BoundLevel), true
	}
	return r.Verification.text(field)
}

func counted(n int) string { return grouped(strconv.Itoa(n)) }
