package check

import (
	"plimsoll/internal/claim"
	"plimsoll/internal/claim/grammar"
	"plimsoll/internal/claim/judge"
	"plimsoll/internal/claim/link"
)

// looselyLinked checks values that no word joins. They refute a claim only if there is a
// single pair and the change follows it directly.
func looselyLinked(a *auditor, s *grammar.Sentence, one *grammar.Saying) {
	if !one.Claims() && one.Hedge == "" && !one.Of {
		return
	}
	if !s.Searched {
		s.Candidates, s.Searched = link.Loose(s), true
	}
	candidates := s.Candidates
	for i := range candidates {
		p := &candidates[i]
		if one.Metric != "" && p.Metric != "" && one.Metric != p.Metric || !link.OfPair(s, one, p) {
			continue
		}
		if !link.Beside(s, one, p) {
			continue
		}
		if out := judge.Of(one, link.Change(s, p)); out.Status == claim.Holds && one.Claims() {
			out.Said = s.TextOf(min(one.From, p.From), max(one.To, p.To))
			s.Used[one.From], s.Used[p.A], s.Used[p.B] = true, true, true
			a.add(out)
			return
		}
	}
	if len(candidates) != 1 || link.SayingBetween(s, &candidates[0]) {
		return
	}
	p := &candidates[0]
	if !link.OfPair(s, one, p) || p.Either && s.Tokens[p.A].Num.Unit.Dim == "" && s.Tokens[p.B].Num.Unit.Dim == "" {
		return
	}
	if one.From >= p.To && link.Follows(s, p, one) || one.To <= p.From && !p.Either && link.Leads(s, one, p) {
		a.judgePair(s, one, p)
	}
}

// chained checks changes that name only their results: "from 40,000, 25 % less, to 30,000, and
// a further 11 % to 25,000".
func chained(a *auditor, s *grammar.Sentence) {
	for i := range s.Sayings {
		one := &s.Sayings[i]
		to := link.Target(s, one)
		if to < 0 || one.Kind != grammar.InPercent || s.Used[one.From] {
			continue
		}
		from, start, ok := link.Origin(s, one, to)
		if !ok {
			if q := s.Tokens[to].Num; !one.Further && q.Value > 0 && one.Low < 100 {
				s.Used[one.From] = true
				a.add(claim.Claim{Said: s.TextOf(one.From, to+1), Status: claim.NotUnderstood, Reason: "the base is not given"})
			}
			continue
		}
		c := &judge.Change{A: from, B: s.Tokens[to].Num}
		if one.Direction == 0 && one.Sign == 0 && one.Good == 0 {
			c.Direction = 1
			if c.B.Span().Middle() < c.A.Span().Middle() {
				c.Direction = -1
			}
		}
		if one.Further && start != nil {
			c.Origin, c.HasOrigin = start.Span(), true
		}
		out := judge.Of(one, c)
		if out.Status == claim.DoesNotHold && !one.Further && !link.Sure(s, one, to) {
			out.Doubt("the base may be another value")
		}
		out.Said = s.TextOf(one.From, to+1)
		s.Used[one.From], s.Used[to], s.Level[to] = true, true, true
		a.add(out)
	}
}
