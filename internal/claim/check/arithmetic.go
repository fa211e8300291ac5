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
	"plimsoll/internal/pattern"
)

// arithmetic checks shares, sums, products, rates and averages whose parts are given.
func arithmetic(a *auditor, s *grammar.Sentence) {
	for k, i := range s.Numbers {
		share(a, s, k, i)
		equation(a, s, i)
		quotient(a, s, i)
		part(a, s, k, i)
	}
	rate(a, s)
	blocks(a, s)
	lists(a, s)
	mean(a, s)
	mix(a, s)
}

// share checks "13 of 150 (8.7 %)" and "of 150 runs, 13 (8.7 %)".
func share(a *auditor, s *grammar.Sentence, k, i int) {
	if k+2 >= len(s.Numbers) {
		return
	}
	j, m := s.Numbers[k+1], s.Numbers[k+2]
	x, n, p := s.Tokens[i].Num, s.Tokens[j].Num, s.Tokens[m].Num
	of := s.WordAt(j-1) == "of" || s.WordAt(j-1) == "the" && s.WordAt(j-2) == "of"
	if first := s.WordAt(i-1) == "of" && i == 1 && m == j+2 && s.Tokens[j+1].Mark == "(" && x.Value >= n.Value && !grammar.BreaksPair(s, i+1, j); first {
		x, n, of = n, x, true
	} else if i+1 < len(s.Tokens) && grammar.HasMark(s, i+1, j, ",") {
		return
	}
	if !of || j-i > 5 || !p.Percent() || x.Percent() || n.Percent() || x.Value > n.Value || !(n.Value > 0) || p.Sign != 0 || x.Sign != 0 {
		return
	}
	for at := i + 1; at < j && s.WordAt(i-1) != "of"; at++ {
		if w := s.WordAt(at); w != "of" && w != "out" && w != "the" && w != "all" && !grammar.Owned(s, at, i) {
			return
		}
	}
	if s.WordAt(i-1) != "of" && grammar.Breaks(s, i+1, j) || !x.Like(n) && len(x.Nouns) > 0 && len(n.Nouns) > 0 && x.Unit.Dim != number.DimCount {
		return
	}
	for at := j + 1; at < m; at++ {
		t := &s.Tokens[at]
		if !(t.Mark == "(" || t.Mark == "," || t.Mark == "=" || t.Mark == ":" || grammar.Owned(s, at, j) || number.Links[t.Word] && !number.Clauses[t.Word]) {
			return
		}
	}
	if w := s.WordAt(m + 1); w == "of" || grammar.Comparatives[w] || number.Ups[w] || number.Downs[w] || number.Goods[w] != 0 || s.WordMatches(m+1, grammar.NotChanges) {
		return
	}
	share, ok := x.Span().Over(n.Span())
	// Counts are exact.
	if x.Unit.Dim == number.DimCount || x.Decimals == 0 && n.Decimals == 0 && x.Unit.Dim == "" {
		share = number.Span{Low: x.Value / n.Value, High: x.Value / n.Value}
	}
	if !ok && x.Value > 0 {
		return
	}
	one := grammar.Exactly(grammar.InPercent, p, m)
	grammar.Hedge(s, &one)
	a.compare(s, [2]int{i, m + 1}, &one, share.Times(100))
	s.Used[one.From], s.Used[m] = true, true
	s.Level[m] = true
}

// compare adds the claim that a computed number equals a stated one.
func (a *auditor) compare(s *grammar.Sentence, at [2]int, one *grammar.Saying, computed number.Span) {
	text := judge.Number(one, computed.Middle())
	if one.Kind == grammar.InPercent {
		text += " %"
	}
	out := claim.Claim{Said: s.TextOf(at[0], at[1]), Status: claim.Holds, Computed: text}
	switch judge.FitOf(one, computed) {
	case judge.Vague:
		out.Status, out.Reason = claim.NotUnderstood, fmt.Sprintf("whether %s is %q cannot be decided", text, judge.Printed(one))
	case judge.Misses:
		out.Refute(judge.FaultValue, text)
		if one.Hedge != "" {
			out.Reason = judge.FaultWord
		}
		number := one.From
		for number+1 < one.To && s.Tokens[number].Num == nil {
			number++ // a hedge comes first
		}
		if why := link.Unsure(s, &grammar.Pair{A: number, B: number}, at[0], at[1]); why != "" && !strings.Contains(why, "settings") {
			out.Doubt(why)
		}
	}
	for i := range s.Sayings {
		if s.Sayings[i].From >= at[0] && s.Sayings[i].To <= at[1] {
			s.Used[s.Sayings[i].From] = true
		}
	}
	a.add(out)
}

// equation checks "3 + 4 + 5 = 12" and "4 x 8 = 32".
func equation(a *auditor, s *grammar.Sentence, i int) {
	if i >= 1 && (s.Tokens[i-1].Mark == "+" || isTimes(&s.Tokens[i-1]) || s.Tokens[i-1].Mark == "=" || s.Tokens[i-1].Mark == "-" || s.Tokens[i-1].Mark == "/") {
		return
	}
	at, operator := i, ""
	total := s.Tokens[i].Num.Span()
	terms := 1
	for at+2 < len(s.Tokens) && s.Tokens[at+2].Num != nil && s.Tokens[at+2].Num.Sign == 0 {
		t := &s.Tokens[at+1]
		op := t.Mark
		if isTimes(t) {
			op = "x"
		}
		if op != "+" && op != "x" || operator != "" && op != operator {
			break
		}
		next := s.Tokens[at+2].Num
		if op == "+" {
			if !next.Like(s.Tokens[i].Num) {
				return
			}
			total = total.Plus(next.Span())
		} else {
			total = total.Product(next.Span())
		}
		operator, at, terms = op, at+2, terms+1
	}
	if terms < 2 || at+2 >= len(s.Tokens) || s.Tokens[at+1].Mark != "=" || s.Tokens[at+2].Num == nil {
		return
	}
	q := s.Tokens[at+2].Num
	scale := q.Unit.Scale
	if scale == 0 || s.Tokens[i].Num.Unit.Dim != q.Unit.Dim {
		scale = 1
		if q.Unit.Dim != s.Tokens[i].Num.Unit.Dim && operator == "+" {
			return
		}
	}
	one := grammar.Exactly(grammar.AsDifference, q, at+2)
	a.compare(s, [2]int{i, at + 3}, &one, total.Times(1/scale))
}

// quotient checks "73 s / 30 s = 2.4x" and "3.6 MB / 9.4 MB = 38 %".
func quotient(a *auditor, s *grammar.Sentence, i int) {
	if i+4 >= len(s.Tokens) || s.Tokens[i+1].Mark != "/" || s.Tokens[i+3].Mark != "=" || i > 0 && s.Tokens[i-1].Mark != "" && s.Tokens[i-1].Mark != ":" && s.Tokens[i-1].Mark != "(" {
		return
	}
	at := i + 4
	if grammar.HedgeMarks[s.Tokens[at].Mark] != "" && at+1 < len(s.Tokens) {
		at++
	}
	x, y, q := s.Tokens[i].Num, s.Tokens[i+2].Num, s.Tokens[at].Num
	if y == nil || q == nil || x.Unit.Dim != y.Unit.Dim || x.Sign != 0 || y.Sign != 0 || q.Sign != 0 || q.Unit.Dim != "" && !q.Percent() {
		return
	}
	got, ok := x.Span().Over(y.Span())
	if !ok {
		return
	}
	one := grammar.Exactly(grammar.AsFactor, q, at)
	if q.Percent() {
		one.Kind, got = grammar.InPercent, got.Times(100)
	}
	grammar.Hedge(s, &one)
	if m := got.Middle(); m > 3*one.Low || 3*m < one.Low {
		return // the slash may not be a division
	}
	a.compare(s, [2]int{i, at + 1}, &one, got)
}

func isTimes(t *number.Token) bool {
	return t.Word == "x" || t.Mark == "\u00d7" || t.Mark == "*" || t.Word == "times"
}

var (
	meanForm  = pattern.Of(`(?i)\b(?:average|mean) of ([0-9][0-9., andms%/]*?[0-9])[ a-z/%]*? (?:is|are|was|=) ([0-9][0-9.,]*)`)
	mixForm   = pattern.Of(`(?i)\b(?:mix|split|breakdown|broken down|consists of|composed of|made up of|distribution)\b`)
	listSplit = pattern.Of(`,? and |, |/`)
)

// mean checks "the average of 10, 20 and 30 is 20".
func mean(a *auditor, s *grammar.Sentence) {
	m := meanForm().FindStringSubmatch(s.Text)
	if m == nil {
		return
	}
	sum, count := number.Span{}, 0.
	for _, text := range listSplit().Split(m[1], 64) {
		fields := strings.Fields(text)
		if len(fields) == 0 {
			return
		}
		q, n, ok := a.doc.Locale.ReadNumber(fields[0])
		if !ok || n == 0 {
			return
		}
		sum = sum.Plus(number.Span{Low: q.Value - q.Half, High: q.Value + q.Half})
		count++
	}
	q, n, ok := a.doc.Locale.ReadNumber(m[2])
	if !ok || n == 0 || count < 2 {
		return
	}
	one := grammar.Exactly(grammar.AsDifference, &q, 0)
	q.Printed = m[2]
	got := sum.Times(1 / count)
	out := claim.Claim{Said: m[0], Status: claim.Holds, Computed: judge.Number(&one, got.Middle())}
	if judge.FitOf(&one, got) != judge.Fits {
		out.Refute(judge.FaultValue, out.Computed)
	}
	a.add(out)
}

// mix checks that the shares of a mix add up to 100 %.
func mix(a *auditor, s *grammar.Sentence) {
	m := mixForm().FindStringIndex(s.Text)
	if m == nil {
		return
	}
	list := shares(s, m[1])
	if len(list) < 2 {
		return
	}
	sum := number.Span{}
	for _, i := range list {
		q := s.Tokens[i].Num
		sum = sum.Plus(number.Span{Low: q.Value - q.Half, High: q.Value + q.Half})
		s.Used[i] = true
	}
	out := claim.Claim{Said: s.TextOf(list[0], list[len(list)-1]+1), Computed: fmt.Sprintf("%d shares add up to %s %%", len(list), judge.Grouped(math.Round(sum.Middle()*1e4)/1e4))}
	switch {
	case sum.Low <= 100+1e-9 && sum.High >= 100-1e-9:
		out.Status = claim.Holds
	case sum.Low > 100:
		out.Status, out.Reason = claim.DoesNotHold, "the shares add up to more than the whole"
	default:
		out.Status, out.Reason = claim.NotUnderstood, "the shares add up to less than the whole; others may not be listed"
	}
	a.add(out)
}

// shares are the numbers of the list after a position in the text: percentages, or numbers
// separated by slashes, with only names between them.
func shares(s *grammar.Sentence, at int) []int {
	var list []int
	slashed := false
	for k := range s.Tokens {
		t := &s.Tokens[k]
		switch {
		case t.From < at:
		case t.Num != nil:
			next := k+1 < len(s.Tokens) && s.Tokens[k+1].Mark == "/" && t.Num.Unit.Dim == ""
			if t.Num.Sign != 0 || !t.Num.Percent() && !next && !slashed {
				return nil
			}
			slashed = next
			list = append(list, k)
		case t.Mark == "(" && len(list) == 0 || t.Mark == "/" || t.Mark == "," || t.Mark == ":" && len(list) == 0:
		case t.Mark != "":
			return list
		case t.Word == "at" || t.Word == "by" || t.Word == "for" || t.Word == "from" || t.Word == "with" || number.Clauses[t.Word] && t.Word != "and":
			return nil
		}
	}
	return list
}
