package check

import (
	"plimsoll/internal/claim"
	"plimsoll/internal/claim/grammar"
	"plimsoll/internal/claim/judge"
	"plimsoll/internal/claim/number"
)

// joints are words that may stand between values and a result computed from them: "in 60 s, or
// 20,000/s".
var joints = number.Set("or i.e i.e. that is are was were which means makes making gives giving yields for thus hence so about roughly around approximately nearly almost just over at a an the average of rate to equals corresponds become becomes")

// joined reports whether nothing but joints stands between two tokens.
func joined(s *grammar.Sentence, from, to int) bool {
	for k := from; k < to; k++ {
		t := &s.Tokens[k]
		if t.Mark == "(" || t.Mark == "," || t.Mark == "=" || t.Mark == ":" || t.Mark == "-" || t.Mark == "~" || t.Mark == "\u2248" || joints[t.Word] && t.Word != "" {
			continue
		}
		return false
	}
	return true
}

// ofDimension are the numbers of a dimension in a sentence that are no changes.
func ofDimension(s *grammar.Sentence, dim string) []int {
	var all []int
	for _, i := range s.Numbers {
		if q := s.Tokens[i].Num; q.Unit.Dim == dim && q.Sign == 0 && !q.Times {
			all = append(all, i)
		}
	}
	return all
}

// rate checks "1,200,000 requests in 60 s (20,000/s)" and "copying 850 GB took 1,420 s
// (599 MB/s)": one volume, one duration, and the rate at the end.
func rate(a *auditor, s *grammar.Sentence) {
	durations := ofDimension(s, number.DimTime)
	for _, kind := range []struct{ volume, rate string }{{number.DimBytes, number.DimByteSec}, {number.DimCount, number.DimRate}, {"", number.DimRate}} {
		rates, volumes := ofDimension(s, kind.rate), volumes(s, kind.volume)
		if len(rates) != 1 || len(volumes) != 1 || len(durations) != 1 {
			continue
		}
		v, d, r := volumes[0], durations[0], rates[0]
		end := max(v, d) + 1
		for end < r && grammar.Owned(s, end, max(v, d)) {
			end++
		}
		if r < max(v, d) || !joined(s, end, r) || grammar.BreaksPair(s, min(v, d), max(v, d)) || !spans(s, v, d) || !counts(s.Tokens[v].Num, s.Tokens[r].Num) {
			continue
		}
		q, ok := s.Tokens[v].Num.Span().Over(s.Tokens[d].Num.Span())
		if !ok {
			continue
		}
		// Durations are nominal: 60 s need not be exact.
		q = number.Span{Low: q.Low * (1 - littleLimit), High: q.High * (1 + littleLimit)}
		a.compareValue(s, min(v, d), r, q)
	}
}

// volumes are the numbers from which a rate may be computed.
func volumes(s *grammar.Sentence, dim string) []int {
	var all []int
	for _, i := range ofDimension(s, dim) {
		if !s.Condition[i] && !number.IntersectSet(s.Tokens[i].Num.Nouns, number.Concurrency) && !number.IntersectSet(s.Tokens[i].Num.Nouns, number.Settings) {
			all = append(all, i)
		}
	}
	return all
}

// counts reports whether a number and a rate count the same.
func counts(q *number.Quantity, rate *number.Quantity) bool {
	return rate.Unit.Dim != number.DimRate || len(rate.Nouns) == 0 || len(q.Nouns) == 0 || number.Intersect(q.Nouns, rate.Nouns)
}

// spans reports whether a duration belongs to a volume: "in 60 s", "took 60 s".
func spans(s *grammar.Sentence, v, d int) bool {
	if d < v {
		w := s.WordAt(grammar.SkipBack(s, d))
		return w == "in" || w == "within" || w == "over" || w == "during" || w == "for"
	}
	for k := v + 1; k < d; k++ {
		switch s.WordAt(k) {
		case "in", "within", "over", "during", "took", "takes", "taking", "needs", "needed", "lasted", "ran", "runs":
			return true
		}
	}
	return false
}

// compareValue adds the claim that a printed value, the token at, equals the computed one.
func (a *auditor) compareValue(s *grammar.Sentence, from, at int, computed number.Span) {
	q := s.Tokens[at].Num
	scale := q.Unit.Scale
	if scale == 0 {
		scale = 1
	}
	one := grammar.Exactly(grammar.AsDifference, q, at)
	grammar.Hedge(s, &one)
	if q.Unit.Loose > 0 && judge.FitOf(&one, computed.Times(1/scale)) != judge.Fits && judge.FitOf(&one, computed.Times(1/q.Unit.Loose)) == judge.Fits {
		a.add(claim.Claim{Said: s.TextOf(from, at+1), Status: claim.NotUnderstood, Reason: "holds only if 1 KB is 1,024 bytes (KiB)"})
		return
	}
	one.From = at
	a.compare(s, [2]int{from, at + 1}, &one, computed.Times(1/scale))
	for i := from; i <= at; i++ {
		s.Used[i], s.Level[i] = true, true
	}
}

// blocks checks "740,000 IOPS at 4 KiB, or 3.0 GB/s".
func blocks(a *auditor, s *grammar.Sentence) {
	sizes, rates, flows := ofDimension(s, number.DimBytes), ofDimension(s, number.DimRate), ofDimension(s, number.DimByteSec)
	if len(sizes) != 1 || len(rates) != 1 || len(flows) != 1 {
		return
	}
	z, r, f := sizes[0], rates[0], flows[0]
	if s.Tokens[z].Num.Decimals > 0 || s.Tokens[z].Num.Value*s.Tokens[z].Num.Unit.Scale > 4<<20 || f < max(z, r) || !joined(s, max(z, r)+1, f) || grammar.BreaksPair(s, min(z, r), max(z, r)) || max(z, r)-min(z, r) > 5 {
		return
	}
	// Block sizes are exact powers of two, whatever their unit is called.
	size := s.Tokens[z].Num.Value * max(s.Tokens[z].Num.Unit.Scale, s.Tokens[z].Num.Unit.Loose)
	a.compareValue(s, min(z, r), f, s.Tokens[r].Num.Span().Times(size))
}

// part checks "70 % of 84,000 IOPS, that is 58,800" and "98 % of bare metal (113,900 of
// 118,400 orders per minute)".
func part(a *auditor, s *grammar.Sentence, k, i int) {
	p := s.Tokens[i].Num
	if !p.Percent() || p.Sign != 0 || k+2 >= len(s.Numbers) || s.WordAt(i+1) != "of" {
		return
	}
	x, n := s.Numbers[k+1], s.Numbers[k+2]
	q, o := s.Tokens[x].Num, s.Tokens[n].Num
	if q.Percent() || o.Percent() || q.Times || o.Times || q.Sign != 0 || o.Sign != 0 {
		return
	}
	if x <= i+4 && joined(s, i+1, x) && q.Like(o) && joined(s, pastNouns(s, x), n) && pastNouns(s, x)+1 < n && !grammar.HasMark(s, i+1, n, "(") {
		share := p.Span().Times(0.01).Product(q.Span())
		a.compareValue(s, i, n, share)
		return
	}
	if s.Tokens[x-1].Mark != "(" || s.WordAt(n-1) != "of" || n-x > 5 || grammar.BreaksPair(s, i+1, x) || grammar.HasMark(s, i+1, x-1, ",") || !(q.Value <= o.Value) {
		return
	}
	if end := pastNouns(s, n); end >= len(s.Tokens) || s.Tokens[end].Mark != ")" {
		return
	}
	grammar.ShareUnit(q, o)
	share, ok := q.Span().Over(o.Span())
	if !ok || !q.Like(o) {
		return
	}
	one := grammar.Exactly(grammar.InPercent, p, i)
	grammar.Hedge(s, &one)
	one.From = i
	a.compare(s, [2]int{i, n + 1}, &one, share.Times(100))
	s.Used[i], s.Level[x], s.Level[n] = true, true, true
}

// pastNouns is the token after a number and its nouns.
func pastNouns(s *grammar.Sentence, i int) int {
	k := i + 1
	for k < len(s.Tokens) && s.Tokens[k].Word != "" && grammar.Owned(s, k, i) {
		k++
	}
	return k
}

var (
	totalWords = number.Set("total altogether combined together aggregate overall sum")
	meanWords  = number.Set("average mean")
)

// lists checks the sum or the mean that follows a list: "141, 139 and 143 MB/s, 423 MB/s
// in total".
func lists(a *auditor, s *grammar.Sentence) {
	for k := 0; k < len(s.Numbers); {
		n := listFrom(s, k)
		if n < 3 {
			k++
			continue
		}
		listed(a, s, k, n)
		k += n
	}
}

// listFrom is the length of the list that begins with the k-th number.
func listFrom(s *grammar.Sentence, k int) int {
	n := 1
	for k+n < len(s.Numbers) {
		i, j := s.Numbers[k+n-1], s.Numbers[k+n]
		x, y := s.Tokens[i].Num, s.Tokens[j].Num
		if s.Condition[i] || s.Condition[j] || x.Percent() || x.Times || x.Sign != 0 || y.Sign != 0 || !x.Like(y) {
			break
		}
		at, comma := i+1, false
		for at < j && (s.Tokens[at].Mark == "," || s.WordAt(at) == "and") {
			at, comma = at+1, true
		}
		if at != j || !comma {
			break
		}
		n++
		if s.WordAt(j-1) == "and" {
			break
		}
	}
	return n
}

// listed compares the number after a list with its sum and its mean.
func listed(a *auditor, s *grammar.Sentence, k, n int) {
	if k+n >= len(s.Numbers) {
		return
	}
	last, r := s.Numbers[k+n-1], s.Numbers[k+n]
	unit, q := s.Tokens[last].Num, s.Tokens[r].Num
	mean, total := false, false
	for at := r + 1; at < min(len(s.Tokens), r+6) && s.Tokens[at].Num == nil && s.Tokens[at].Mark == ""; at++ {
		w, before := s.WordAt(at), s.WordAt(at-1)
		mean, total = mean || meanWords[w] && before == "on", total || totalWords[w]
	}
	for at := last + 1; at < r; at++ {
		w := s.WordAt(at)
		mean, total = mean || meanWords[w] && at+2 >= grammar.SkipBack(s, r), total || totalWords[w]
	}
	if mean == total || q.Percent() || q.Times || q.Sign != 0 || q.Unit.Dim != unit.Unit.Dim && q.Unit.Dim != "" || grammar.BreaksPair(s, last, r) || r-last > 10 || s.Lists {
		return
	}
	sum := number.Span{}
	for _, i := range s.Numbers[k : k+n] {
		part := *s.Tokens[i].Num
		if part.Unit.Dim == "" {
			part.Unit = unit.Unit
		}
		sum = sum.Plus(part.Span())
	}
	if mean {
		sum = sum.Times(1 / float64(n))
	}
	if q.Unit.Dim == "" {
		q.Unit = unit.Unit
	}
	a.compareValue(s, s.Numbers[k], r, sum)
}
