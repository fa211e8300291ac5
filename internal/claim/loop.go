package claim

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Faults of latencies.
const (
	faultLittle = "fails Little's law: not a mean of this closed loop"
	faultLoads  = "latency compared at different loads"
)

// littleLimit is how far X*R may be from N. A generator that times operations
// itself leaves out what it does between two of them.
const littleLimit = 0.02

// superlinear is from which factor on a latency that falls while the concurrency
// rises is no effect of the load: by Little's law the throughput of one system would
// grow by this factor more than the concurrency.
const superlinear = 1.5

var perClient = regexp.MustCompile(`\beach\b|\bper (?:client|vm|guest|host|node|machine|worker|thread|connection|disk|job|process)\b|pipelin|\basync|\bbatch|\bburst`)
var noThink = regexp.MustCompile(`closed[ -]loop|(?:no|without|zero) think|back[ -]to[ -]back|saturat`)

// loops holds mean latencies against Little's law and against the loads at which
// they were measured.
func (a *auditor) loops(s *sentence) {
	flight, rates, means := s.inFlight(), s.rates(), s.means()
	if len(means) > 0 && s.before != nil {
		if len(flight) == 0 {
			flight = s.before.inFlight()
		}
		if len(rates) == 0 {
			rates = s.before.rates()
		}
	}
	if n := len(means); n > 0 && n == len(rates) && n == len(flight) {
		for i := range means {
			a.add(s.little(flight[i], rates[i], means[i]))
		}
	}
	for i := range s.pairs {
		a.loads(s, &s.pairs[i], flight)
	}
}

// inFlight are the numbers of operations in flight: threads, clients, outstanding.
func (s *sentence) inFlight() []*quantity {
	var all []*quantity
	for _, i := range s.numbers {
		q := s.tokens[i].num
		named := q.unit.dim == dimCount && intersectSet(q.nouns, concurrency) ||
			s.wordAt(i+1) == "in" && (s.wordAt(i+2) == "flight" || s.wordAt(i+2) == "flight,") || s.wordAt(i+1) == "in-flight"
		if !named {
			continue
		}
		if i >= 2 && s.tokens[i-1].mark == "+" && s.tokens[i-2].num != nil {
			sum := *q
			sum.value += s.tokens[i-2].num.value
			q = &sum
		}
		all = append(all, q)
	}
	return all
}

func (s *sentence) rates() []*quantity {
	var all []*quantity
	for _, i := range s.numbers {
		if q := s.tokens[i].num; q.unit.dim == dimRate && q.sign == 0 {
			all = append(all, q)
		}
	}
	return all
}

// means are the latencies that the text calls means.
func (s *sentence) means() []*quantity {
	var all []*quantity
	mean := func(i int) bool {
		for k := max(0, i-7); k <= min(len(s.tokens)-1, i+4); k++ {
			switch w := s.wordAt(k); {
			case k > i && s.tokens[k].mark == ",":
				return false
			case w == "mean" || w == "average" || w == "avg" || w == "averaged" || w == "averages":
				return !s.tailed(i)
			}
		}
		return false
	}
	taken := map[int]bool{}
	for _, i := range s.numbers {
		if s.tokens[i].num.unit.dim != dimTime || taken[i] || s.inSaying(i) {
			continue
		}
		if !mean(i) {
			continue
		}
		group := []int{i}
		for _, p := range s.pairs {
			if p.a == i || p.b == i {
				group = []int{p.a, p.b}
			}
		}
		for _, g := range group {
			if !taken[g] {
				all, taken[g] = append(all, s.tokens[g].num), true
			}
		}
	}
	return all
}

var tailWord = regexp.MustCompile(`^(?:p[0-9.]+|percentiles?|median|max|maximum|min|minimum|tail|worst)$`)

// tailed tells whether a percentile or an extreme is named nearer to a latency.
func (s *sentence) tailed(i int) bool {
	for k := i - 1; k >= max(0, i-4); k-- {
		if w := s.wordAt(k); tailWord.MatchString(w) {
			return true
		} else if w == "mean" || w == "average" || w == "avg" {
			return false
		}
	}
	return false
}

// little holds a mean latency against N = X*R.
func (s *sentence) little(flight, rate, mean *quantity) Claim {
	n, x, r := flight.span(), rate.span(), mean.span()
	seen := x.product(r)
	out := Claim{
		Said: fmt.Sprintf("%s, %s, %s", flight.printed, rate.printed, mean.printed), Status: Holds,
		Computed: fmt.Sprintf("X*R = %s for N = %s", significant(seen.middle()), grouped(n.middle())),
	}
	if seen.meets(span{low: n.low * (1 - littleLimit), high: n.high * (1 + littleLimit)}) {
		return out
	}
	if !(x.low > 0) || !(n.low > 0) || !(r.low > 0) {
		out.Status, out.Reason = NotUnderstood, "a rate or a latency of 0"
		return out
	}
	right := n.middle() / x.middle()
	out.Computed = fmt.Sprintf("N/X = %s, off by %sx", timeText(right), significant3(r.middle()/right))
	near := s.near
	switch {
	case perClient.MatchString(near):
		out.Status, out.Reason = NotUnderstood, "the number in flight is not given as a whole"
	case seen.high < n.low && !noThink.MatchString(near):
		out.Status, out.Reason = NotUnderstood, "fewer in flight than threads: they may think or wait elsewhere"
	default:
		out.Status, out.Reason, out.Wording = DoesNotHold, faultLittle, "mean latency "+timeText(right)
	}
	return out
}

// loads checks that two latencies were measured at the same load.
func (a *auditor) loads(s *sentence, p *pair, flight []*quantity) {
	if s.tokens[p.a].num.unit.dim != dimTime {
		return
	}
	var la, lb *quantity
	if x, y := s.load[p.a], s.load[p.b]; x > 0 && y > 0 {
		la, lb = s.tokens[x].num, s.tokens[y].num
	} else if x, y := s.loadsAfter(p); x != nil {
		la, lb = x, y
	} else if len(flight) == 2 {
		la, lb = flight[0], flight[1]
	}
	if la == nil || !intersectSet(append(append([]string{}, la.nouns...), lb.nouns...), concurrency) {
		return
	}
	ra, rb := s.tokens[p.a].num.span(), s.tokens[p.b].num.span()
	ratio, ok := rb.over(ra)
	moved, fine := lb.span().over(la.span())
	if !ok || !fine || moved.meets(span{low: 1 - littleLimit, high: 1 + littleLimit}) {
		return
	}
	if moved.low > 1 && ratio.high < 1/superlinear || moved.high < 1 && ratio.low > superlinear {
		a.add(Claim{
			Said: s.textOf(p.from, p.to), Status: DoesNotHold, Reason: faultLoads,
			Computed: fmt.Sprintf("%s at a load of %s against %s at %s", timeText(ra.middle()), grouped(la.value), timeText(rb.middle()), grouped(lb.value)),
			Wording:  "compare both at the same load",
		})
	}
}

// loadsAfter reads "at 12,320 / 33,600 threads" after a pair.
func (s *sentence) loadsAfter(p *pair) (a, b *quantity) {
	for k := p.to; k+2 < min(len(s.tokens), p.to+8); k++ {
		x, y := s.tokens[k].num, s.tokens[k+2].num
		if x == nil || y == nil || y.percent() || x.percent() {
			continue
		}
		if m := s.tokens[k+1]; m.mark == "/" || m.mark == "->" || m.word == "and" || m.word == "to" {
			s.inheritLoad(x, y)
			return x, y
		}
	}
	return nil, nil
}

func significant(v float64) string {
	if v >= 1000 {
		return grouped(math.Round(v))
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

func significant3(v float64) string {
	if v >= 100 {
		return grouped(math.Round(v))
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// timeText writes seconds with a unit.
func timeText(seconds float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}} {
		if seconds >= u.size {
			return strings.TrimSuffix(strconv.FormatFloat(seconds/u.size, 'g', 4, 64), ".0") + " " + u.name
		}
	}
	return strconv.FormatFloat(seconds*1e9, 'g', 4, 64) + " ns"
}
