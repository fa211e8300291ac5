package claim

import (
	"fmt"
	"math"
	"regexp"
	"strings"
)

// arithmetic checks shares, sums, products, rates and averages whose parts are given.
func (a *auditor) arithmetic(s *sentence) {
	for k, i := range s.numbers {
		a.share(s, k, i)
		a.equation(s, i)
		a.quotient(s, i)
		a.part(s, k, i)
	}
	a.rate(s)
	a.blocks(s)
	a.lists(s)
	a.mean(s)
	a.mix(s)
}

// share checks "13 of 150 (8.7 %)" and "of 150 runs, 13 (8.7 %)".
func (a *auditor) share(s *sentence, k, i int) {
	if k+2 >= len(s.numbers) {
		return
	}
	j, m := s.numbers[k+1], s.numbers[k+2]
	x, n, p := s.tokens[i].num, s.tokens[j].num, s.tokens[m].num
	of := s.wordAt(j-1) == "of" || s.wordAt(j-1) == "the" && s.wordAt(j-2) == "of"
	if first := s.wordAt(i-1) == "of" && i == 1 && m == j+2 && s.tokens[j+1].mark == "(" && x.value >= n.value && !s.breaksPair(i+1, j); first {
		x, n, of = n, x, true
	} else if i+1 < len(s.tokens) && s.hasMark(i+1, j, ",") {
		return
	}
	if !of || j-i > 5 || !p.percent() || x.percent() || n.percent() || x.value > n.value || !(n.value > 0) || p.sign != 0 || x.sign != 0 {
		return
	}
	for at := i + 1; at < j && s.wordAt(i-1) != "of"; at++ {
		if w := s.wordAt(at); w != "of" && w != "out" && w != "the" && w != "all" && !s.owned(at, i) {
			return
		}
	}
	if s.wordAt(i-1) != "of" && s.breaks(i+1, j) || !x.like(n) && len(x.nouns) > 0 && len(n.nouns) > 0 && x.unit.dim != dimCount {
		return
	}
	for at := j + 1; at < m; at++ {
		t := &s.tokens[at]
		if !(t.mark == "(" || t.mark == "," || t.mark == "=" || t.mark == ":" || s.owned(at, j) || links[t.word] && !clauses[t.word]) {
			return
		}
	}
	if w := s.wordAt(m + 1); w == "of" || comparatives[w] || ups[w] || downs[w] || goods[w] != 0 || s.wordMatches(m+1, notChanges) {
		return
	}
	share, ok := x.span().over(n.span())
	// Counts are exact.
	if x.unit.dim == dimCount || x.decimals == 0 && n.decimals == 0 && x.unit.dim == "" {
		share = span{low: x.value / n.value, high: x.value / n.value}
	}
	if !ok && x.value > 0 {
		return
	}
	one := saying{kind: inPercent, low: p.value, high: p.value, half: p.half, decimals: p.decimals, num: p, from: m, to: m + 1}
	s.hedge(&one)
	a.settle(s, [2]int{i, m + 1}, &one, share.times(100))
	s.used[one.from], s.used[m] = true, true
	s.level[m] = true
}

// settle adds the claim that a computed number is what a saying states.
func (a *auditor) settle(s *sentence, at [2]int, one *saying, computed span) {
	text := one.number(computed.middle())
	if one.kind == inPercent {
		text += " %"
	}
	out := Claim{Said: s.textOf(at[0], at[1]), Status: Holds, Computed: text}
	switch one.fits(computed) {
	case vague:
		out.Status, out.Reason = NotUnderstood, fmt.Sprintf("whether %s is %q is a matter of taste", text, one.printed())
	case misses:
		out.Status, out.Reason, out.Wording = DoesNotHold, faultValue, text
		if one.hedge != "" {
			out.Reason = faultWord
		}
		number := one.from
		for number+1 < one.to && s.tokens[number].num == nil {
			number++ // a hedge comes first
		}
		if why := s.unsure(&pair{a: number, b: number}, at[0], at[1]); why != "" && !strings.Contains(why, "settings") {
			out.Status, out.Reason, out.Wording = NotUnderstood, why, ""
		}
	}
	for i := range s.sayings {
		if s.sayings[i].from >= at[0] && s.sayings[i].to <= at[1] {
			s.used[s.sayings[i].from] = true
		}
	}
	a.add(out)
}

// equation checks "3 + 4 + 5 = 12" and "4 x 8 = 32".
func (a *auditor) equation(s *sentence, i int) {
	if i >= 1 && (s.tokens[i-1].mark == "+" || isTimes(&s.tokens[i-1]) || s.tokens[i-1].mark == "=" || s.tokens[i-1].mark == "-" || s.tokens[i-1].mark == "/") {
		return
	}
	at, operator := i, ""
	total := s.tokens[i].num.span()
	terms := 1
	for at+2 < len(s.tokens) && s.tokens[at+2].num != nil && s.tokens[at+2].num.sign == 0 {
		t := &s.tokens[at+1]
		op := t.mark
		if isTimes(t) {
			op = "x"
		}
		if op != "+" && op != "x" || operator != "" && op != operator {
			break
		}
		next := s.tokens[at+2].num
		if op == "+" {
			if !next.like(s.tokens[i].num) {
				return
			}
			total = total.plus(next.span())
		} else {
			total = total.product(next.span())
		}
		operator, at, terms = op, at+2, terms+1
	}
	if terms < 2 || at+2 >= len(s.tokens) || s.tokens[at+1].mark != "=" || s.tokens[at+2].num == nil {
		return
	}
	q := s.tokens[at+2].num
	scale := q.unit.scale
	if scale == 0 || s.tokens[i].num.unit.dim != q.unit.dim {
		scale = 1
		if q.unit.dim != s.tokens[i].num.unit.dim && operator == "+" {
			return
		}
	}
	one := saying{kind: asDifference, low: q.value, high: q.value, half: q.half, decimals: q.decimals, num: q, from: at + 2, to: at + 3}
	a.settle(s, [2]int{i, at + 3}, &one, total.times(1/scale))
}

// quotient checks "73 s / 30 s = 2.4x" and "3.6 MB / 9.4 MB = 38 %".
func (a *auditor) quotient(s *sentence, i int) {
	if i+4 >= len(s.tokens) || s.tokens[i+1].mark != "/" || s.tokens[i+3].mark != "=" || i > 0 && s.tokens[i-1].mark != "" && s.tokens[i-1].mark != ":" && s.tokens[i-1].mark != "(" {
		return
	}
	at := i + 4
	if hedgeMarks[s.tokens[at].mark] != "" && at+1 < len(s.tokens) {
		at++
	}
	x, y, q := s.tokens[i].num, s.tokens[i+2].num, s.tokens[at].num
	if y == nil || q == nil || x.unit.dim != y.unit.dim || x.sign != 0 || y.sign != 0 || q.sign != 0 || q.unit.dim != "" && !q.percent() {
		return
	}
	got, ok := x.span().over(y.span())
	if !ok {
		return
	}
	one := saying{kind: asFactor, low: q.value, high: q.value, half: q.half, decimals: q.decimals, num: q, from: at, to: at + 1}
	if q.percent() {
		one.kind, got = inPercent, got.times(100)
	}
	s.hedge(&one)
	if m := got.middle(); m > 3*one.low || 3*m < one.low {
		return // the slash may be no division
	}
	a.settle(s, [2]int{i, at + 1}, &one, got)
}

func isTimes(t *token) bool {
	return t.word == "x" || t.mark == "\u00d7" || t.mark == "*" || t.word == "times"
}

var (
	meanForm  = regexp.MustCompile(`(?i)\b(?:average|mean) of ([0-9][0-9., andms%/]*?[0-9])[ a-z/%]*? (?:is|are|was|=) ([0-9][0-9.,]*)`)
	mixForm   = regexp.MustCompile(`(?i)\b(?:mix|split|breakdown|broken down|consists of|composed of|made up of|distribution)\b`)
	listSplit = regexp.MustCompile(`,? and |, |/`)
)

// mean checks "the average of 10, 20 and 30 is 20".
func (a *auditor) mean(s *sentence) {
	m := meanForm.FindStringSubmatch(s.text)
	if m == nil {
		return
	}
	sum, count := span{}, 0.
	for _, text := range listSplit.Split(m[1], 64) {
		fields := strings.Fields(text)
		if len(fields) == 0 {
			return
		}
		q, n, ok := a.doc.locale.readNumber(fields[0])
		if !ok || n == 0 {
			return
		}
		sum = sum.plus(span{low: q.value - q.half, high: q.value + q.half})
		count++
	}
	q, n, ok := a.doc.locale.readNumber(m[2])
	if !ok || n == 0 || count < 2 {
		return
	}
	one := saying{kind: asDifference, low: q.value, high: q.value, half: q.half, decimals: q.decimals, num: &q}
	q.printed = m[2]
	got := sum.times(1 / count)
	out := Claim{Said: m[0], Status: Holds, Computed: one.number(got.middle())}
	if one.fits(got) != fits {
		out.Status, out.Reason, out.Wording = DoesNotHold, faultValue, out.Computed
	}
	a.add(out)
}

// mix checks that the shares of a mix add up to 100 %.
func (a *auditor) mix(s *sentence) {
	m := mixForm.FindStringIndex(s.text)
	if m == nil {
		return
	}
	list := s.shares(m[1])
	if len(list) < 2 {
		return
	}
	sum := span{}
	for _, i := range list {
		q := s.tokens[i].num
		sum = sum.plus(span{low: q.value - q.half, high: q.value + q.half})
		s.used[i] = true
	}
	out := Claim{Said: s.textOf(list[0], list[len(list)-1]+1), Computed: fmt.Sprintf("%d shares add up to %s %%", len(list), grouped(math.Round(sum.middle()*1e4)/1e4))}
	switch {
	case sum.low <= 100+1e-9 && sum.high >= 100-1e-9:
		out.Status = Holds
	case sum.low > 100:
		out.Status, out.Reason = DoesNotHold, "the shares add up to more than the whole"
	default:
		out.Status, out.Reason = NotUnderstood, "the shares add up to less than the whole; others may not be listed"
	}
	a.add(out)
}

// shares are the numbers of the list that begins after a place in the text: numbers
// in percent, or with slashes between them, and nothing else between them but names.
func (s *sentence) shares(at int) []int {
	var list []int
	slashed := false
	for k := range s.tokens {
		t := &s.tokens[k]
		switch {
		case t.from < at:
		case t.num != nil:
			next := k+1 < len(s.tokens) && s.tokens[k+1].mark == "/" && t.num.unit.dim == ""
			if t.num.sign != 0 || !t.num.percent() && !next && !slashed {
				return nil
			}
			slashed = next
			list = append(list, k)
		case t.mark == "(" && len(list) == 0 || t.mark == "/" || t.mark == "," || t.mark == ":" && len(list) == 0:
		case t.mark != "":
			return list
		case t.word == "at" || t.word == "by" || t.word == "for" || t.word == "from" || t.word == "with" || clauses[t.word] && t.word != "and":
			return nil
		}
	}
	return list
}
