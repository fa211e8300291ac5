package check

import (
	"fmt"
	"math"
	"strings"

	"plimsoll/internal/claim"
	"plimsoll/internal/claim/grammar"
	"plimsoll/internal/claim/judge"
	"plimsoll/internal/claim/link"
	"plimsoll/internal/claim/number"
)

// sentence audits one sentence. One with a number yields at least one claim.
func (a *auditor) sentence(s *grammar.Sentence) {
	if s.Long {
		a.add(claim.Claim{Status: claim.NotUnderstood, Reason: "too many numbers for one sentence"})
		return
	}
	first := len(a.claims)
	phrases(a, s)
	loops(a, s)
	arithmetic(a, s)
	a.changes(s)
	if len(a.claims) > first {
		a.leftover(s)
		return
	}
	switch {
	case len(s.Sayings) > 0 && s.Stated():
		a.leftover(s)
	case number.HasDigit(s.Text):
		a.add(claim.Claim{Status: claim.NotUnderstood, Reason: "no values to recompute from"})
	}
}

// leftover lists the changes without values.
func (a *auditor) leftover(s *grammar.Sentence) {
	for i := range s.Sayings {
		one := &s.Sayings[i]
		if s.Used[one.From] || !one.Claims() {
			continue
		}
		a.add(claim.Claim{Said: s.TextOf(one.From, one.To), Status: claim.NotUnderstood, Reason: "no values before and after are given"})
	}
}

// changes compares each stated change with its values.
func (a *auditor) changes(s *grammar.Sentence) {
	a.respective(s)
	chained(a, s)
	a.unlabelled(s)
	for i := range s.Sayings {
		one := &s.Sayings[i]
		if s.Used[one.From] {
			continue
		}
		if p, ok := link.Linked(s, one); ok {
			a.judgePair(s, one, &p)
			continue
		}
		looselyLinked(a, s, one)
	}
	for i := range s.Pairs {
		p := &s.Pairs[i]
		if s.Used[p.A] || p.Direction == 0 || p.Either || p.Metric == "" {
			continue
		}
		a.directions(s, p)
	}
}

// respective matches lists of as many pairs as changes, in order: "from 410 us to 365 us and
// from 92 us to 75 us, 11 % and 18 % less respectively".
func (a *auditor) respective(s *grammar.Sentence) {
	if !s.Lists || len(s.Pairs) < 2 || len(s.Pairs) != len(s.Sayings) || s.Sayings[0].From < s.Pairs[len(s.Pairs)-1].To {
		return
	}
	for i := range s.Pairs {
		one := &s.Sayings[i]
		if s.Pairs[i].Explicit && one.Kind == s.Sayings[0].Kind {
			if out := judge.Of(one, link.Change(s, &s.Pairs[i])); out.Status == claim.Holds {
				out.Said = s.TextOf(s.Pairs[i].From, one.To)
				s.Used[one.From], s.Used[s.Pairs[i].A], s.Used[s.Pairs[i].B] = true, true, true
				a.add(out)
			}
		}
	}
}

// unlabelled checks a bare number after a pair that equals its change in percent to the last
// digit.
func (a *auditor) unlabelled(s *grammar.Sentence) {
	for i := range s.Pairs {
		p := &s.Pairs[i]
		for k := p.To; k < min(len(s.Tokens), p.To+5); k++ {
			q := s.Tokens[k].Num
			if q == nil {
				continue
			}
			if q.Unit.Dim != "" || q.Decimals == 0 || q.Value < 1 || q.Times {
				break
			}
			one := grammar.Saying{From: k, To: k + 1, Low: q.Value, High: q.Value, Half: q.Half, Decimals: q.Decimals, Sign: q.Sign, Num: q}
			c := link.Change(s, p)
			r, ok := c.Strict()
			if ok && (judge.FitOf(&one, judge.Up(&one, r.Ratio)[0]) == judge.Fits || judge.FitOf(&one, judge.Down(&one, r.Ratio)[0]) == judge.Fits) && one.Low > 100*(r.Ratio.High-r.Ratio.Low) {
				a.judgePair(s, &one, p)
			}
			break
		}
	}
}

// directions checks the verb of a pair without a stated change.
func (a *auditor) directions(s *grammar.Sentence, p *grammar.Pair) {
	c := link.Change(s, p)
	d := c.B.Span().Minus(c.A.Span()).Times(float64(p.Direction))
	out := claim.Claim{Said: s.TextOf(p.From, p.To), Status: claim.Holds, Computed: fmt.Sprintf("%s by %s", map[bool]string{true: "falls", false: "rises"}[c.B.Span().Middle() < c.A.Span().Middle()], differenceText(c.A, c.B))}
	if d.High < 0 {
		out.Status, out.Reason = claim.DoesNotHold, judge.FaultWay
		if why := link.Unsure(s, p, p.From, p.To); why != "" {
			out.Status, out.Reason = claim.NotUnderstood, why
		} else if s.WordAt(p.From) != "from" && !grammar.HasMark(s, p.A, p.B, "->") && p.A < p.B {
			out.Status, out.Reason = claim.NotUnderstood, "the values may be a range"
		}
	}
	s.Used[p.A], s.Used[p.B] = true, true
	a.add(out)
}

// judgePair compares a stated change with its pair.
func (a *auditor) judgePair(s *grammar.Sentence, one *grammar.Saying, p *grammar.Pair) {
	from, to := min(one.From, p.From), max(one.To, p.To)
	c := link.Change(s, p)
	out := a.judgeNamed(s, one, p, c)
	if out.Status == claim.DoesNotHold {
		if why := doubt(s, one, p, out.Reason); why != "" {
			out.Doubt(why)
		}
	}
	out.Said = s.TextOf(from, to)
	s.Used[one.From], s.Used[p.A], s.Used[p.B] = true, true, true
	a.add(out)
}

// doubt is why a stated change cannot be refuted by a pair; "" for none.
func doubt(s *grammar.Sentence, one *grammar.Saying, p *grammar.Pair, fault string) string {
	if why := link.Unsure(s, p, min(one.From, p.From), max(one.To, p.To)); why != "" {
		return why
	}
	after := one.From >= p.To
	switch {
	case fault == judge.FaultSign && one.From < p.To:
		return "the direction of the change is not known"
	case one.Of && !one.Rounded && one.Kind == grammar.InPercent && after && !link.OfBase(s, one):
		return "the share may be of other values"
	case link.IsLevel(s, one, p), implausible(s, p, one, link.Change(s, p)):
		return "the percentage may be of other values"
	case after && link.OtherBase(s, one, p):
		return "the change is from another value"
	}
	return ""
}

// judgeNamed also considers the named metric: cost per operation is not utilisation.
func (a *auditor) judgeNamed(s *grammar.Sentence, one *grammar.Saying, p *grammar.Pair, c *judge.Change) claim.Claim {
	out := judge.Of(one, c)
	if p.Metric != number.MetricCost || one.Metric != number.MetricCPU || one.Kind != grammar.InPercent {
		return out
	}
	cost := out
	rates, ok := ratePair(s, p)
	if !ok {
		if cost.Status == claim.Holds {
			cost.Status, cost.Reason = claim.DoesNotHold, judge.FaultName+": "+cost.Computed+" is the cost of an operation; utilisation is cost times rate"
			cost.Wording = "cost of an operation: " + cost.Computed
		}
		return cost
	}
	product := func(x, y *number.Quantity) *number.Quantity {
		q := *x
		q.Value, q.Half = x.Value*y.Value, x.Value*y.Half+y.Value*x.Half
		return &q
	}
	use := judge.Of(one, &judge.Change{A: product(c.A, rates.A), B: product(c.B, rates.B)})
	use.Computed = cost.Computed + " is the cost of an operation; utilisation is cost times rate, " + use.Computed
	if use.Status == claim.DoesNotHold && cost.Status == claim.Holds {
		use.Reason = judge.FaultName
	}
	return use
}

// ratePair is the pair of rates in a sentence, other than the given pair.
func ratePair(s *grammar.Sentence, p *grammar.Pair) (*judge.Change, bool) {
	for i := range s.Pairs {
		if o := &s.Pairs[i]; o.A != p.A && o.Metric == number.MetricThroughput {
			s.Used[o.A], s.Used[o.B] = true, true
			return link.Change(s, o), true
		}
	}
	return nil, false
}

func differenceText(a, b *number.Quantity) string {
	x, y := a.Span().Middle(), b.Span().Middle()
	if !(x > 0) {
		return "a difference"
	}
	one := grammar.Saying{Decimals: 1}
	return strings.TrimPrefix(judge.Number(&one, 100*(y/x-1)), "-") + " %"
}

// implausible reports whether a pair without a known metric is far from the change, which then
// more likely belongs to another metric.
func implausible(s *grammar.Sentence, p *grammar.Pair, one *grammar.Saying, c *judge.Change) bool {
	if one.Kind == grammar.AsDifference {
		d, scale := math.Abs(c.B.Span().Minus(c.A.Span()).Middle()), one.Num.Unit.Scale
		if scale == 0 {
			scale = 1
		}
		return d > 3*one.High*scale || 3*d < one.Low*scale
	}
	named := p.Metric != "" && (p.Metric != number.MetricSpace || s.Tokens[p.A].Num.Unit.Dim == number.DimBytes)
	if named {
		return false
	}
	a, b := c.A, c.B
	if a.Unit.Dim == "" && b.Unit.Dim == "" && a.Value < 100 && b.Value < 100 {
		return true
	}
	r, ok := c.Strict()
	if !ok || one.Kind != grammar.InPercent && one.Kind != grammar.AsFactor {
		return false
	}
	computed := max(r.Ratio.Middle(), 1/r.Ratio.Middle())
	if one.Kind == grammar.AsFactor {
		return computed > 3*one.High || 3*computed < one.Low
	}
	return computed > 3*(1+one.High/100) || 3*computed < 1+one.Low/100
}
