package claim

// looselyLinked looks among values that no word joins. They accuse only where there
// is one pair and the change follows it at once.
func (a *auditor) looselyLinked(s *sentence, one *saying) {
	if !one.claims() && one.hedge == "" && !one.of {
		return
	}
	if !s.searched {
		s.candidates, s.searched = s.loose(), true
	}
	candidates := s.candidates
	for i := range candidates {
		p := &candidates[i]
		if one.metric != "" && p.metric != "" && one.metric != p.metric || !s.ofPair(one, p) {
			continue
		}
		if !s.beside(one, p) {
			continue
		}
		if out := judge(one, s.change(p)); out.Status == Holds && one.claims() {
			out.Said = s.textOf(min(one.from, p.from), max(one.to, p.to))
			s.used[one.from], s.used[p.a], s.used[p.b] = true, true, true
			a.add(out)
			return
		}
	}
	if len(candidates) != 1 || s.sayingBetween(&candidates[0]) {
		return
	}
	p := &candidates[0]
	if !s.ofPair(one, p) || p.either && s.tokens[p.a].num.unit.dim == "" && s.tokens[p.b].num.unit.dim == "" {
		return
	}
	if one.from >= p.to && s.follows(p, one) || one.to <= p.from && !p.either && s.leads(one, p) {
		a.judgePair(s, one, p)
	}
}

// chained reads changes that name only where they lead: "from 40,000, 25 % less, to
// 30,000, and a further 11 % to 25,000".
func (a *auditor) chained(s *sentence) {
	for i := range s.sayings {
		one := &s.sayings[i]
		to := s.target(one)
		if to < 0 || one.kind != inPercent || s.used[one.from] {
			continue
		}
		from, start, ok := s.origin(one, to)
		if !ok {
			if q := s.tokens[to].num; !one.further && q.value > 0 && one.low < 100 {
				s.used[one.from] = true
				a.add(Claim{Said: s.textOf(one.from, to+1), Status: NotUnderstood, Reason: "the value before is not given"})
			}
			continue
		}
		c := &change{a: from, b: s.tokens[to].num}
		if one.direction == 0 && one.sign == 0 && one.good == 0 {
			c.direction = 1
			if c.b.span().middle() < c.a.span().middle() {
				c.direction = -1
			}
		}
		if one.further && start != nil {
			c.origin, c.hasOrigin = start.span(), true
		}
		out := judge(one, c)
		if out.Status == DoesNotHold && !one.further && !s.sure(one, to) {
			out.Status, out.Reason, out.Wording = NotUnderstood, "the value before may be another one", ""
		}
		out.Said = s.textOf(one.from, to+1)
		s.used[one.from], s.used[to], s.level[to] = true, true, true
		a.add(out)
	}
}
