package content

import (
	"fmt"
	"math"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/quantity"
	"plimsoll/internal/report"
	"plimsoll/internal/sentence"
)

// TuningRounds is the rounds of tuning on the page.
type TuningRounds struct {
	Goal   string
	Rounds []round
	Final  []Line
	Log    []string
}

// round is one round of tuning.
type round struct {
	Number                  int
	Metric                  string
	Measured, MeasuredSeed  string
	Rule                    string
	Factor, From, To        string
	Predicted               string
	Verified, Seed          string
	Change, Between, Blocks string
	Values                  string // before and after, if available
	Bound                   string
	Outcome                 string
	Kept                    bool
	Reason                  string
	Guards                  []sentence.Sentence
}

// TuningOf is the rounds of tuning; nil without tuning.
func TuningOf(s *report.Sources) *TuningRounds {
	t := s.Findings.Tuning
	if t == nil {
		return nil
	}
	out := &TuningRounds{Goal: t.Aim(), Log: TuningLog(t)}
	for _, factor := range report.SortedKeys(t.Final) {
		out.Final = append(out.Final, Line{factor, t.Final[factor]})
	}
	for i := range t.Rounds {
		out.Rounds = append(out.Rounds, roundOf(s, i))
	}
	return out
}

// BeforeAfter is the value before and after a change. The page has the means of the last
// verification only.
func BeforeAfter(s *report.Sources, i int) string {
	rounds := s.Findings.Tuning.Rounds
	for _, later := range rounds[i+1:] {
		if later.Verification != nil {
			return ""
		}
	}
	c := rounds[i].Verification
	before, after := s.Summary(c.Metric.Name, 0), s.Summary(c.Metric.Name, c.Arm)
	if before == nil || after == nil || c.Arm == 0 {
		return ""
	}
	return report.Amount(before.Mean, (before.High-before.Low)/2, c.Metric.Unit) + " → " + report.Amount(after.Mean, (after.High-after.Low)/2, c.Metric.Unit)
}

func roundOf(s *report.Sources, i int) round {
	r := &s.Findings.Tuning.Rounds[i]
	v := round{
		Number: i + 1, Measured: r.Measured, Verified: r.Verified, Outcome: string(r.Outcome), Kept: r.Outcome == finding.Kept, Reason: r.Reason,
		MeasuredSeed: fmt.Sprint(r.MeasuredSeed), Seed: fmt.Sprint(r.Seed),
	}
	if s.Study != nil && s.Study.Goal != nil {
		v.Metric = s.Study.Goal.Metric
	}
	if rec := r.Recommendation; rec != nil {
		v.Rule = spaced(rec.Rule)
		v.Factor, v.From, v.To = rec.Change.Factor, rec.Change.From, rec.Change.To
		v.Predicted = expected(rec.Predicted)
	}
	if c := r.Verification; c != nil {
		v.Values = BeforeAfter(s, i)
		v.Metric = c.Metric.Name
		v.Change, v.Blocks = report.Within(c.Ratio, c.Low, c.High), report.Plural(c.Blocks, "fresh block", "fresh blocks")
		if !c.NoInterval {
			v.Between = Between(c)
		}
		if r.BoundLevel > 0 {
			v.Bound = report.Within(r.BoundRatio(), c.Low, c.High) + " at " + quantity.Share(math.Round(1000*r.BoundLevel)/1000) + " confidence, one-sided"
		}
	}
	for k := range r.Guards {
		v.Guards = append(v.Guards, report.Below(fmt.Sprintf("round:%d:", i+1), r.Guards[k].Sentence))
	}
	return v
}

// RoundText is a round of tuning in one line.
func RoundText(s *report.Sources, i int) string {
	r := roundOf(s, i)
	var parts []string
	if r.Factor != "" {
		parts = append(parts, fmt.Sprintf("%s: %s %s → %s", r.Rule, r.Factor, r.From, r.To))
	}
	if r.Change != "" {
		text := fmt.Sprintf("%s %s on %s", r.Metric, r.Change, r.Blocks)
		if r.Between != "" {
			text += " (" + r.Between + ")"
		}
		parts = append(parts, text)
	}
	text := strings.Join(append(parts, r.Outcome), "; ")
	if r.Reason != "" {
		text += ", " + r.Reason
	}
	return text
}
