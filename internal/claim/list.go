package claim

// joints may stand between values and what is computed from them: "in 60 s, or 20,000/s".
var joints = set("or i.e i.e. that is are was were which means makes making gives giving yields for thus hence so about roughly around approximately nearly almost just over at a an the average of rate to equals corresponds become becomes")

// joined tells whether nothing but joints stands between two tokens.
func (s *sentence) joined(from, to int) bool {
	for k := from; k < to; k++ {
		t := &s.tokens[k]
		if t.mark == "(" || t.mark == "," || t.mark == "=" || t.mark == ":" || t.mark == "-" || t.mark == "~" || t.mark == "\u2248" || joints[t.word] && t.word != "" {
			continue
		}
		return false
	}
	return true
}

// ofDimension are the numbers of a dimension in a sentence that are no changes.
func (s *sentence) ofDimension(dim string) []int {
	var all []int
	for _, i := range s.numbers {
		if q := s.tokens[i].num; q.unit.dim == dim && q.sign == 0 && !q.times {
			all = append(all, i)
		}
	}
	return all
}

// rate checks "1,200,000 requests in 60 s (20,000/s)" and "copying 850 GB took 1,420 s
// (599 MB/s)": one volume, one duration, and the rate at the end.
func (a *auditor) rate(s *sentence) {
	durations := s.ofDimension(dimTime)
	for _, kind := range []struct{ volume, rate string }{{dimBytes, dimByteSec}, {dimCount, dimRate}, {"", dimRate}} {
		rates, volumes := s.ofDimension(kind.rate), s.volumes(kind.volume)
		if len(rates) != 1 || len(volumes) != 1 || len(durations) != 1 {
			continue
		}
		v, d, r := volumes[0], durations[0], rates[0]
		end := max(v, d) + 1
		for end < r && s.owned(end, max(v, d)) {
			end++
		}
		if r < max(v, d) || !s.joined(end, r) || s.breaksPair(min(v, d), max(v, d)) || !s.spans(v, d) || !s.tokens[v].num.counts(s.tokens[r].num) {
			continue
		}
		q, ok := s.tokens[v].num.span().over(s.tokens[d].num.span())
		if !ok {
			continue
		}
		// A duration is nominal: what is printed as 60 s need not be exact.
		q = span{low: q.low * (1 - littleLimit), high: q.high * (1 + littleLimit)}
		a.settleValue(s, min(v, d), r, q)
	}
}

// volumes are the numbers that a rate may be computed from.
func (s *sentence) volumes(dim string) []int {
	var all []int
	for _, i := range s.ofDimension(dim) {
		if !s.condition[i] && !intersectSet(s.tokens[i].num.nouns, concurrency) && !intersectSet(s.tokens[i].num.nouns, settings) {
			all = append(all, i)
		}
	}
	return all
}

// counts tells whether a rate is of the things that a number counts.
func (q *quantity) counts(rate *quantity) bool {
	return rate.unit.dim != dimRate || len(rate.nouns) == 0 || len(q.nouns) == 0 || intersect(q.nouns, rate.nouns)
}

// spans tells whether a duration is the one of a volume: "in 60 s", "took 60 s".
func (s *sentence) spans(v, d int) bool {
	if d < v {
		w := s.wordAt(s.skipBack(d))
		return w == "in" || w == "within" || w == "over" || w == "during" || w == "for"
	}
	for k := v + 1; k < d; k++ {
		switch s.wordAt(k) {
		case "in", "within", "over", "during", "took", "takes", "taking", "needs", "needed", "lasted", "ran", "runs":
			return true
		}
	}
	return false
}

// settleValue adds the claim that a printed value, the token at, is what was computed.
func (a *auditor) settleValue(s *sentence, from, at int, computed span) {
	q := s.tokens[at].num
	scale := q.unit.scale
	if scale == 0 {
		scale = 1
	}
	one := saying{kind: asDifference, low: q.value, high: q.value, half: q.half, decimals: q.decimals, num: q, from: at, to: at + 1}
	s.hedge(&one)
	if q.unit.loose > 0 && one.fits(computed.times(1/scale)) != fits && one.fits(computed.times(1/q.unit.loose)) == fits {
		a.add(Claim{Said: s.textOf(from, at+1), Status: NotUnderstood, Reason: "holds only where 1 KB is 1,024 bytes; KB and KiB are different units"})
		return
	}
	one.from = at
	a.settle(s, [2]int{from, at + 1}, &one, computed.times(1/scale))
	for i := from; i <= at; i++ {
		s.used[i], s.level[i] = true, true
	}
}

// blocks checks "740,000 IOPS at 4 KiB, or 3.0 GB/s".
func (a *auditor) blocks(s *sentence) {
	sizes, rates, flows := s.ofDimension(dimBytes), s.ofDimension(dimRate), s.ofDimension(dimByteSec)
	if len(sizes) != 1 || len(rates) != 1 || len(flows) != 1 {
		return
	}
	z, r, f := sizes[0], rates[0], flows[0]
	if s.tokens[z].num.decimals > 0 || s.tokens[z].num.value*s.tokens[z].num.unit.scale > 4<<20 || f < max(z, r) || !s.joined(max(z, r)+1, f) || s.breaksPair(min(z, r), max(z, r)) || max(z, r)-min(z, r) > 5 {
		return
	}
	// Block sizes are powers of two, whatever they are called, and exact.
	size := s.tokens[z].num.value * max(s.tokens[z].num.unit.scale, s.tokens[z].num.unit.loose)
	a.settleValue(s, min(z, r), f, s.tokens[r].num.span().times(size))
}

// part checks "70 % of 84,000 IOPS, that is 58,800" and "98 % of bare metal (113,900 of
// 118,400 orders per minute)".
func (a *auditor) part(s *sentence, k, i int) {
	p := s.tokens[i].num
	if !p.percent() || p.sign != 0 || k+2 >= len(s.numbers) || s.wordAt(i+1) != "of" {
		return
	}
	x, n := s.numbers[k+1], s.numbers[k+2]
	q, o := s.tokens[x].num, s.tokens[n].num
	if q.percent() || o.percent() || q.times || o.times || q.sign != 0 || o.sign != 0 {
		return
	}
	if x <= i+4 && s.joined(i+1, x) && q.like(o) && s.joined(s.pastNouns(x), n) && s.pastNouns(x)+1 < n && !s.hasMark(i+1, n, "(") {
		share := p.span().times(0.01).product(q.span())
		a.settleValue(s, i, n, share)
		return
	}
	if s.tokens[x-1].mark != "(" || s.wordAt(n-1) != "of" || n-x > 5 || s.breaksPair(i+1, x) || s.hasMark(i+1, x-1, ",") || !(q.value <= o.value) {
		return
	}
	if end := s.pastNouns(n); end >= len(s.tokens) || s.tokens[end].mark != ")" {
		return
	}
	s.inheritLoad(q, o)
	share, ok := q.span().over(o.span())
	if !ok || !q.like(o) {
		return
	}
	one := saying{kind: inPercent, low: p.value, high: p.value, half: p.half, decimals: p.decimals, num: p, from: i, to: i + 1}
	s.hedge(&one)
	one.from = i
	a.settle(s, [2]int{i, n + 1}, &one, share.times(100))
	s.used[i], s.level[x], s.level[n] = true, true, true
}

// pastNouns is the token after a number and its nouns.
func (s *sentence) pastNouns(i int) int {
	k := i + 1
	for k < len(s.tokens) && s.tokens[k].word != "" && s.owned(k, i) {
		k++
	}
	return k
}

var (
	totalWords = set("total altogether combined together aggregate overall sum")
	meanWords  = set("average mean")
)

// lists checks the sum or the mean that follows a list: "141, 139 and 143 MB/s, 423 MB/s
// in total".
func (a *auditor) lists(s *sentence) {
	for k := 0; k < len(s.numbers); {
		n := s.listFrom(k)
		if n < 3 {
			k++
			continue
		}
		a.listed(s, k, n)
		k += n
	}
}

// listFrom is the number of values of the list that begins with the k-th number.
func (s *sentence) listFrom(k int) int {
	n := 1
	for k+n < len(s.numbers) {
		i, j := s.numbers[k+n-1], s.numbers[k+n]
		x, y := s.tokens[i].num, s.tokens[j].num
		if s.condition[i] || s.condition[j] || x.percent() || x.times || x.sign != 0 || y.sign != 0 || !x.like(y) {
			break
		}
		at, comma := i+1, false
		for at < j && (s.tokens[at].mark == "," || s.wordAt(at) == "and") {
			at, comma = at+1, true
		}
		if at != j || !comma {
			break
		}
		n++
		if s.wordAt(j-1) == "and" {
			break
		}
	}
	return n
}

// listed holds the number after a list against its sum or its mean.
func (a *auditor) listed(s *sentence, k, n int) {
	if k+n >= len(s.numbers) {
		return
	}
	last, r := s.numbers[k+n-1], s.numbers[k+n]
	unit, q := s.tokens[last].num, s.tokens[r].num
	mean, total := false, false
	for at := r + 1; at < min(len(s.tokens), r+6) && s.tokens[at].num == nil && s.tokens[at].mark == ""; at++ {
		w, before := s.wordAt(at), s.wordAt(at-1)
		mean, total = mean || meanWords[w] && before == "on", total || totalWords[w]
	}
	for at := last + 1; at < r; at++ {
		w := s.wordAt(at)
		mean, total = mean || meanWords[w] && at+2 >= s.skipBack(r), total || totalWords[w]
	}
	if mean == total || q.percent() || q.times || q.sign != 0 || q.unit.dim != unit.unit.dim && q.unit.dim != "" || s.breaksPair(last, r) || r-last > 10 || s.lists {
		return
	}
	sum := span{}
	for _, i := range s.numbers[k : k+n] {
		part := *s.tokens[i].num
		if part.unit.dim == "" {
			part.unit = unit.unit
		}
		sum = sum.plus(part.span())
	}
	if mean {
		sum = sum.times(1 / float64(n))
	}
	if q.unit.dim == "" {
		q.unit = unit.unit
	}
	a.settleValue(s, s.numbers[k], r, sum)
}
