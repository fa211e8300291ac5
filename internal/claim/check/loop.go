package check

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"plimsoll/internal/claim"
	"plimsoll/internal/claim/grammar"
	"plimsoll/internal/claim/judge"
	"plimsoll/internal/claim/link"
	"plimsoll/internal/claim/number"
	"plimsoll/internal/pattern"
)

// Faults of latencies.
const (
	faultLittle = "fails Little's law: not a mean of this closed loop"
	faultLoads  = "latency compared at different loads"
)

// littleLimit is the tolerance of X*R = N: a generator that times operations itself leaves out
// its work between them.
const littleLimit = 0.02

// superlinear is the factor from which a latency that falls with rising concurrency cannot be
// an effect of the load: by Little's law the throughput of one system would grow by this
// factor more than the concurrency.
const superlinear = 1.5

var perClient = pattern.Of(`\beach\b|\bper (?:client|vm|guest|host|node|machine|worker|thread|connection|disk|job|process)\b|pipelin|\basync|\bbatch|\bburst`)
var noThink = pattern.Of(`closed[ -]loop|(?:no|without|zero) think|back[ -]to[ -]back|saturat`)

// loops checks mean latencies by Little's law, and that latencies were measured at the same
// load.
func loops(a *auditor, s *grammar.Sentence) {
	flight, rates, means := inFlight(s), ratesOf(s), means(s)
	if len(means) > 0 && s.Before != nil {
		if len(flight) == 0 {
			flight = inFlight(s.Before)
		}
		if len(rates) == 0 {
			rates = ratesOf(s.Before)
		}
	}
	if n := len(means); n > 0 && n == len(rates) && n == len(flight) {
		for i := range means {
			a.add(little(s, flight[i], rates[i], means[i]))
		}
	}
	for i := range s.Pairs {
		loads(a, s, &s.Pairs[i], flight)
	}
}

// inFlight are the numbers of operations in flight: threads, clients, outstanding.
func inFlight(s *grammar.Sentence) []*number.Quantity {
	var all []*number.Quantity
	for _, i := range s.Numbers {
		q := s.Tokens[i].Num
		named := q.Unit.Dim == number.DimCount && number.IntersectSet(q.Nouns, number.Concurrency) ||
			s.WordAt(i+1) == "in" && (s.WordAt(i+2) == "flight" || s.WordAt(i+2) == "flight,") || s.WordAt(i+1) == "in-flight"
		if !named {
			continue
		}
		if i >= 2 && s.Tokens[i-1].Mark == "+" && s.Tokens[i-2].Num != nil {
			sum := *q
			sum.Value += s.Tokens[i-2].Num.Value
			q = &sum
		}
		all = append(all, q)
	}
	return all
}

func ratesOf(s *grammar.Sentence) []*number.Quantity {
	var all []*number.Quantity
	for _, i := range s.Numbers {
		if q := s.Tokens[i].Num; q.Unit.Dim == number.DimRate && q.Sign == 0 {
			all = append(all, q)
		}
	}
	return all
}

// means are the latencies that the text states as means.
func means(s *grammar.Sentence) []*number.Quantity {
	var all []*number.Quantity
	mean := func(i int) bool {
		for k := max(0, i-7); k <= min(len(s.Tokens)-1, i+4); k++ {
			switch w := s.WordAt(k); {
			case k > i && s.Tokens[k].Mark == ",":
				return false
			case w == "mean" || w == "average" || w == "avg" || w == "averaged" || w == "averages":
				return !tailed(s, i)
			}
		}
		return false
	}
	taken := map[int]bool{}
	for _, i := range s.Numbers {
		if s.Tokens[i].Num.Unit.Dim != number.DimTime || taken[i] || link.InSaying(s, i) {
			continue
		}
		if !mean(i) {
			continue
		}
		group := []int{i}
		for _, p := range s.Pairs {
			if p.A == i || p.B == i {
				group = []int{p.A, p.B}
			}
		}
		for _, g := range group {
			if !taken[g] {
				all, taken[g] = append(all, s.Tokens[g].Num), true
			}
		}
	}
	return all
}

var tailWord = pattern.Of(`^(?:p[0-9.]+|percentiles?|median|max|maximum|min|minimum|tail|worst)$`)

// tailed reports whether a percentile or an extreme is named nearer to a latency.
func tailed(s *grammar.Sentence, i int) bool {
	for k := i - 1; k >= max(0, i-4); k-- {
		if w := s.WordAt(k); tailWord().MatchString(w) {
			return true
		} else if w == "mean" || w == "average" || w == "avg" {
			return false
		}
	}
	return false
}

// little checks a mean latency by N = X*R.
func little(s *grammar.Sentence, flight, rate, mean *number.Quantity) claim.Claim {
	n, x, r := flight.Span(), rate.Span(), mean.Span()
	seen := x.Product(r)
	out := claim.Claim{
		Said: fmt.Sprintf("%s, %s, %s", flight.Printed, rate.Printed, mean.Printed), Status: claim.Holds,
		Computed: fmt.Sprintf("X*R = %s for N = %s", significant(seen.Middle(), 4), judge.Grouped(n.Middle())),
	}
	if seen.Meets(number.Span{Low: n.Low * (1 - littleLimit), High: n.High * (1 + littleLimit)}) {
		return out
	}
	if !(x.Low > 0) || !(n.Low > 0) || !(r.Low > 0) {
		out.Status, out.Reason = claim.NotUnderstood, "a rate or a latency of 0"
		return out
	}
	right := n.Middle() / x.Middle()
	out.Computed = fmt.Sprintf("N/X = %s, off by %sx", timeText(right), significant(r.Middle()/right, 3))
	near := s.Near
	switch {
	case perClient().MatchString(near):
		out.Status, out.Reason = claim.NotUnderstood, "the total number in flight is not given"
	case seen.High < n.Low && !noThink().MatchString(near):
		out.Status, out.Reason = claim.NotUnderstood, "fewer in flight than threads: there may be think time or other waits"
	default:
		out.Refute(faultLittle, "mean latency "+timeText(right))
	}
	return out
}

// loads checks that two latencies were measured at the same load.
func loads(a *auditor, s *grammar.Sentence, p *grammar.Pair, flight []*number.Quantity) {
	if s.Tokens[p.A].Num.Unit.Dim != number.DimTime {
		return
	}
	var la, lb *number.Quantity
	if x, y := s.Load[p.A], s.Load[p.B]; x > 0 && y > 0 {
		la, lb = s.Tokens[x].Num, s.Tokens[y].Num
	} else if x, y := loadsAfter(s, p); x != nil {
		la, lb = x, y
	} else if len(flight) == 2 {
		la, lb = flight[0], flight[1]
	}
	if la == nil || !number.IntersectSet(append(append([]string{}, la.Nouns...), lb.Nouns...), number.Concurrency) {
		return
	}
	ra, rb := s.Tokens[p.A].Num.Span(), s.Tokens[p.B].Num.Span()
	ratio, ok := rb.Over(ra)
	moved, fine := lb.Span().Over(la.Span())
	if !ok || !fine || moved.Meets(number.Span{Low: 1 - littleLimit, High: 1 + littleLimit}) {
		return
	}
	if moved.Low > 1 && ratio.High < 1/superlinear || moved.High < 1 && ratio.Low > superlinear {
		a.add(claim.Claim{
			Said: s.TextOf(p.From, p.To), Status: claim.DoesNotHold, Reason: faultLoads,
			Computed: fmt.Sprintf("%s at a load of %s against %s at %s", timeText(ra.Middle()), judge.Grouped(la.Value), timeText(rb.Middle()), judge.Grouped(lb.Value)),
			Wording:  "compare both at the same load",
		})
	}
}

// loadsAfter reads "at 12,320 / 33,600 threads" after a pair.
func loadsAfter(s *grammar.Sentence, p *grammar.Pair) (a, b *number.Quantity) {
	for k := p.To; k+2 < min(len(s.Tokens), p.To+8); k++ {
		x, y := s.Tokens[k].Num, s.Tokens[k+2].Num
		if x == nil || y == nil || y.Percent() || x.Percent() {
			continue
		}
		if m := s.Tokens[k+1]; m.Mark == "/" || m.Mark == "->" || m.Word == "and" || m.Word == "to" {
			grammar.ShareUnit(x, y)
			return x, y
		}
	}
	return nil, nil
}

// significant formats v with the given number of significant digits, and with thousands
// separators from the value that has as many before its point.
func significant(v float64, digits int) string {
	if v >= math.Pow10(digits-1) {
		return judge.Grouped(math.Round(v))
	}
	return strconv.FormatFloat(v, 'g', digits, 64)
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
