package claim

import (
	"fmt"
	"math"
	"strings"
)

// sentence audits one sentence. One that holds a number yields at least one claim.
func (a *auditor) sentence(s *sentence) {
	if s.long {
		a.add(Claim{Status: NotUnderstood, Reason: "too many numbers for one sentence"})
		return
	}
	first := len(a.claims)
	a.phrases(s)
	a.loops(s)
	a.arithmetic(s)
	a.changes(s)
	if len(a.claims) > first {
		a.leftover(s)
		return
	}
	switch {
	case len(s.sayings) > 0 && s.stated():
		a.leftover(s)
	case hasDigit(s.text):
		a.add(Claim{Status: NotUnderstood, Reason: "no values to recompute it from"})
	}
}

// leftover lists the changes for which no values were found.
func (a *auditor) leftover(s *sentence) {
	for i := range s.sayings {
		one := &s.sayings[i]
		if s.used[one.from] || !one.claims() {
			continue
		}
		a.add(Claim{Said: s.textOf(one.from, one.to), Status: NotUnderstood, Reason: "its values before and after are not given"})
	}
}

// changes holds each change that the sentence states against its values.
func (a *auditor) changes(s *sentence) {
	a.respective(s)
	a.chained(s)
	a.unlabelled(s)
	for i := range s.sayings {
		one := &s.sayings[i]
		if s.used[one.from] {
			continue
		}
		if p, ok := s.linked(one); ok {
			a.judgePair(s, one, &p)
			continue
		}
		a.looselyLinked(s, one)
	}
	for i := range s.pairs {
		p := &s.pairs[i]
		if s.used[p.a] || p.direction == 0 || p.either || p.metric == "" {
			continue
		}
		a.directions(s, p)
	}
}

// respective reads as many pairs as changes, each set in its own order: "from 410 us to
// 365 us and from 92 us to 75 us, 11 % and 18 % less respectively".
func (a *auditor) respective(s *sentence) {
	if !s.lists || len(s.pairs) < 2 || len(s.pairs) != len(s.sayings) || s.sayings[0].from < s.pairs[len(s.pairs)-1].to {
		return
	}
	for i := range s.pairs {
		one := &s.sayings[i]
		if s.pairs[i].explicit && one.kind == s.sayings[0].kind {
			if out := judge(one, s.change(&s.pairs[i])); out.Status == Holds {
				out.Said = s.textOf(s.pairs[i].from, one.to)
				s.used[one.from], s.used[s.pairs[i].a], s.used[s.pairs[i].b] = true, true, true
				a.add(out)
			}
		}
	}
}

// unlabelled reads a bare number after a pair that is its change in percent, digit by
// digit: nothing else can be meant.
func (a *auditor) unlabelled(s *sentence) {
	for i := range s.pairs {
		p := &s.pairs[i]
		for k := p.to; k < min(len(s.tokens), p.to+5); k++ {
			q := s.tokens[k].num
			if q == nil {
				continue
			}
			if q.unit.dim != "" || q.decimals == 0 || q.value < 1 || q.times {
				break
			}
			one := saying{from: k, to: k + 1, low: q.value, high: q.value, half: q.half, decimals: q.decimals, sign: q.sign, num: q}
			c := s.change(p)
			r, ok := c.strict()
			if ok && (one.fits(one.up(r.ratio)[0]) == fits || one.fits(one.down(r.ratio)[0]) == fits) && one.low > 100*(r.ratio.high-r.ratio.low) {
				a.judgePair(s, &one, p)
			}
			break
		}
	}
}

// directions checks the verb of a pair without a stated change.
func (a *auditor) directions(s *sentence, p *pair) {
	c := s.change(p)
	d := c.b.span().minus(c.a.span()).times(float64(p.direction))
	out := Claim{Said: s.textOf(p.from, p.to), Status: Holds, Computed: fmt.Sprintf("%s by %s", map[bool]string{true: "falls", false: "rises"}[c.b.span().middle() < c.a.span().middle()], differenceText(c.a, c.b))}
	if d.high < 0 {
		out.Status, out.Reason = DoesNotHold, faultWay
		if why := s.unsure(p, p.from, p.to); why != "" {
			out.Status, out.Reason = NotUnderstood, why
		} else if s.wordAt(p.from) != "from" && !s.hasMark(p.a, p.b, "->") && p.a < p.b {
			out.Status, out.Reason = NotUnderstood, "the values may be a range"
		}
	}
	s.used[p.a], s.used[p.b] = true, true
	a.add(out)
}

// judgePair holds a saying against the pair that it was said of.
func (a *auditor) judgePair(s *sentence, one *saying, p *pair) {
	from, to := min(one.from, p.from), max(one.to, p.to)
	c := s.change(p)
	out := a.judgeNamed(s, one, p, c)
	if out.Status == DoesNotHold {
		if why := s.unsure(p, from, to); why != "" {
			out.Status, out.Reason, out.Wording = NotUnderstood, why, ""
		} else if out.Reason == faultSign && one.from < p.to {
			out.Status, out.Reason, out.Wording = NotUnderstood, "the direction of the change is not known", ""
		} else if one.of && !one.rounded && one.kind == inPercent && one.from >= p.to && !s.ofBase(one) {
			out.Status, out.Reason, out.Wording = NotUnderstood, "the share may be of something else than these values", ""
		} else if s.isLevel(one, p) || s.implausible(p, one, c) {
			out.Status, out.Reason, out.Wording = NotUnderstood, "the percentage may be of something else than these values", ""
		} else if one.from >= p.to && s.otherBase(one, p) {
			out.Status, out.Reason, out.Wording = NotUnderstood, "the change is from another value", ""
		}
	}
	out.Said = s.textOf(from, to)
	s.used[one.from], s.used[p.a], s.used[p.b] = true, true, true
	a.add(out)
}

// judgeNamed also looks at the metric that a change is said to be of: a cost of an
// operation is not utilisation.
func (a *auditor) judgeNamed(s *sentence, one *saying, p *pair, c *change) Claim {
	out := judge(one, c)
	if p.metric != metricCost || one.metric != metricCPU || one.kind != inPercent {
		return out
	}
	cost := out
	rates, ok := s.ratePair(p)
	if !ok {
		if cost.Status == Holds {
			cost.Status, cost.Reason = DoesNotHold, faultName+": "+cost.Computed+" is the cost of an operation; utilisation is cost times rate"
			cost.Wording = "cost of an operation: " + cost.Computed
		}
		return cost
	}
	product := func(x, y *quantity) *quantity {
		q := *x
		q.value, q.half = x.value*y.value, x.value*y.half+y.value*x.half
		return &q
	}
	use := judge(one, &change{a: product(c.a, rates.a), b: product(c.b, rates.b)})
	use.Computed = cost.Computed + " is the cost of an operation; utilisation is cost times rate, " + use.Computed
	if use.Status == DoesNotHold && cost.Status == Holds {
		use.Reason = faultName
	}
	return use
}

// ratePair is the pair of rates in a sentence, besides another pair.
func (s *sentence) ratePair(p *pair) (*change, bool) {
	for i := range s.pairs {
		if o := &s.pairs[i]; o.a != p.a && o.metric == metricThroughput {
			s.used[o.a], s.used[o.b] = true, true
			return s.change(o), true
		}
	}
	return nil, false
}

func differenceText(a, b *quantity) string {
	x, y := a.span().middle(), b.span().middle()
	if !(x > 0) {
		return "a difference"
	}
	one := saying{decimals: 1}
	return strings.TrimPrefix(one.number(100*(y/x-1)), "-") + " %"
}

// implausible tells whether a pair without a known metric is far from the change:
// then the change is more likely one of something else.
func (s *sentence) implausible(p *pair, one *saying, c *change) bool {
	if one.kind == asDifference {
		d, scale := math.Abs(c.b.span().minus(c.a.span()).middle()), one.num.unit.scale
		if scale == 0 {
			scale = 1
		}
		return d > 3*one.high*scale || 3*d < one.low*scale
	}
	named := p.metric != "" && (p.metric != metricSpace || s.tokens[p.a].num.unit.dim == dimBytes)
	if named {
		return false
	}
	a, b := c.a, c.b
	if a.unit.dim == "" && b.unit.dim == "" && a.value < 100 && b.value < 100 {
		return true
	}
	r, ok := c.strict()
	if !ok || one.kind != inPercent && one.kind != asFactor {
		return false
	}
	computed := max(r.ratio.middle(), 1/r.ratio.middle())
	if one.kind == asFactor {
		return computed > 3*one.high || 3*computed < one.low
	}
	return computed > 3*(1+one.high/100) || 3*computed < 1+one.low/100
}
