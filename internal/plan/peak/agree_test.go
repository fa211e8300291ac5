package peak

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"plimsoll/internal/effort"
	"plimsoll/internal/plan/plantest"
)

// spoiling is a server whose generator lacks CPU in the probes that are named.
func spoiling(v server, when func(p Probe, probe int) bool) server {
	inner := v.serve
	v.serve = func(r *rand.Rand, p Probe, i int) Result {
		if when(p, i) {
			return Result{GeneratorLimited: true, Starved: true}
		}
		return inner(r, p, i)
	}
	return v
}

// A confirmation that could not be carried out says nothing of the rate.
func TestAVoidConfirmationDoesNotLowerTheClaim(t *testing.T) {
	clean, _ := run(New(asked), single("", constant(1000)), rand.New(rand.NewPCG(9, 9)))
	spoilt := 0
	twice := spoiling(single("", constant(1000)), func(p Probe, i int) bool {
		if p.Phase == Confirm && spoilt < 2 {
			spoilt++
			return true
		}
		return false
	})
	if a, _ := run(New(asked), twice, rand.New(rand.NewPCG(9, 9))); a.Sustained != clean.Sustained || a.Word != clean.Word {
		t.Errorf("after two void confirmations %v, without %v", a, clean)
	}
	always := spoiling(single("", constant(1000)), func(p Probe, _ int) bool { return p.Phase == Confirm })
	a, _ := run(New(asked), always, rand.New(rand.NewPCG(9, 9)))
	if a.Word != Identified || a.Low != clean.Low || a.Sustained != 0 || !strings.Contains(a.Why, "other processes took the CPU") {
		t.Errorf("all confirmations void: %+v", a)
	}
}

// Where the host is too busy to confirm a rate, a lower one is claimed, with the reason.
func TestABusyHostConfirmsLess(t *testing.T) {
	queue := single("", constant(1000))
	clean, _ := run(New(asked), queue, rand.New(rand.NewPCG(9, 9)))
	busy := spoiling(queue, func(p Probe, _ int) bool { return p.Phase == Confirm && p.Rate > .92*clean.Low })
	a, _ := run(New(asked), busy, rand.New(rand.NewPCG(9, 9)))
	if a.Word != Identified || a.Low != clean.Low || math.Abs(a.Sustained/clean.Low-.9) > 1e-9 || !strings.Contains(a.Why, "could not be carried out: other processes took the CPU") {
		t.Errorf("%+v, without a busy host %+v", a, clean)
	}
}

// Lack of CPU on the generator's host is not a limit of the generator.
func TestABusyHostIsNamed(t *testing.T) {
	busy := spoiling(single("", constant(1000)), func(p Probe, _ int) bool { return p.Rate > 500 })
	a, _ := run(New(asked), busy, rand.New(rand.NewPCG(1, 1)))
	if a.Word != HostBusy || !(a.Sustained > 450 && a.Sustained <= 500) || !strings.Contains(a.Why, "other processes took the CPU") || !strings.Contains(a.Why, "met its limits at every rate") {
		t.Errorf("%+v", a)
	}
}

// Where the host lets no confirmation of a sharp limit be carried out, or no probe above it,
// the host is the answer and not the system.
func TestAHostThatSpoilsConfirmationsIsNamed(t *testing.T) {
	for _, c := range []struct {
		spoilt Phase
		least  float64 // of the claim
	}{{Confirm, 0}, {Above, 600}, {Refine, 500}} {
		busy := spoiling(refusing(650), func(p Probe, _ int) bool { return p.Phase == c.spoilt })
		for seed := range uint64(10) {
			s := asked
			s.Seed = seed
			a, _ := run(New(s), busy, rand.New(rand.NewPCG(seed, 1)))
			if a.Word == Identified && c.spoilt != Confirm { // what failed before was enough
				continue
			}
			if a.Word != HostBusy || a.Sustained < c.least || a.Sustained > 660 || !strings.Contains(a.Why, "other processes took the CPU") || !strings.Contains(a.Why, "met its limits at") || strings.Contains(a.Why, " 0/s") {
				t.Errorf("no %s, seed %d: %+v", c.spoilt, seed, a)
			}
		}
	}
}

// A response time that does not depend on the rate is named where some probes are slower
// still because the host is busy.
func TestAFlatResponseTimeIsNamedOnABusyHost(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 21))
		v := server{"tail", constant(0), func(r *rand.Rand, p Probe, _ int) Result {
			return judge(p, .2*math.Exp(r.ExpFloat64()/2), false)
		}}
		a, probes := run(New(Settings{Limits: limits, Start: 800, Lowest: 25}), v, r)
		if a.Word != NeverPassed || !strings.Contains(a.Why, "ms independently of the rate") || probes > 7 {
			t.Errorf("seed %d: %d probes, %+v", seed, probes, a)
		}
	}
	falls := server{"falls with the rate", constant(0), func(_ *rand.Rand, p Probe, _ int) Result { return judge(p, p.Rate/1000, false) }}
	if a, _ := run(New(Settings{Limits: limits, Start: 800, Lowest: 25}), falls, rand.New(rand.NewPCG(1, 1))); a.Word != NeverPassed || strings.Contains(a.Why, "independently of the rate") {
		t.Errorf("%+v", a)
	}
}

// A few stalls of a busy host do not explain why no rate passed.
func TestAFewStallsAreNotWhyNoRatePassed(t *testing.T) {
	serve := clocked(func(p Probe, from, to float64) Result {
		r := judge(p, .2, false)
		for at := math.Ceil(from/6) * 6; at < to; at += 6 {
			r.Stalls = append(r.Stalls, Stall{at, .5})
		}
		return r
	})
	s := Settings{Limits: []Limit{{"p90", .9, .02}}, Start: 800, Seconds: .5, ConfirmSeconds: 10, Longest: 15}
	a, _ := run(New(s), server{"tail", nil, serve}, rand.New(rand.NewPCG(1, 1)))
	if a.Word != NeverPassed || !strings.Contains(a.Why, "p90 is about 200 ms independently of the rate") || !strings.Contains(a.Why, "stalls for about 500 ms") {
		t.Errorf("%+v", a)
	}
}

// No sentence says that the system met its limits at a rate at which it did not.
func TestReasonsAgreeWithAllProbes(t *testing.T) {
	long := behind(server{"fails in long probes", constant(0), func(_ *rand.Rand, p Probe, _ int) Result {
		if p.Phase == Confirm && p.Rate > 510 {
			return judge(p, 0.5, false)
		}
		return judge(p, 0.002, false)
	}}, 520)
	a, _ := run(New(asked), long, rand.New(rand.NewPCG(1, 1)))
	if a.Word != GeneratorLimited || !(a.Sustained > 500 && a.Sustained <= 510) || !strings.Contains(a.Why, "and missed them at 51") || strings.Contains(a.Why, "every rate") {
		t.Errorf("%+v", a)
	}
	s := asked
	s.Highest = 500
	long = server{"fails in long probes", constant(0), func(_ *rand.Rand, p Probe, _ int) Result {
		if p.Phase == Confirm && p.Rate > 480 {
			return judge(p, 0.5, false)
		}
		return judge(p, 0.002, false)
	}}
	a, _ = run(New(s), long, rand.New(rand.NewPCG(1, 1)))
	if a.Word != NotIdentified || !(a.Sustained > 460 && a.Sustained <= 480) || !strings.Contains(a.Why, "and missed them at 48") {
		t.Errorf("%+v", a)
	}
}

// clocked gives a server a clock on which its probes follow each other.
func clocked(serve func(p Probe, from, to float64) Result) func(*rand.Rand, Probe, int) Result {
	now := 0.
	return func(_ *rand.Rand, p Probe, _ int) Result {
		from := now
		now += p.Seconds / .8
		r := serve(p, from, now)
		r.From, r.To = from, now
		now += .1
		return r
	}
}

// stopping is a fluid server of 1,000/s that stalls at given instants.
func stopping(next func(after float64) (at, seconds float64), share float64) func(p Probe, from, to float64) Result {
	return func(p Probe, from, to float64) Result {
		slow, cut := 0., from+.2*(to-from)
		var seen []Stall
		for at, seconds := next(from); at < to; at, seconds = next(at + 1e-9) {
			seen = append(seen, Stall{at, seconds})
			if at > cut {
				slow += seconds / math.Max(1e-3, 1-p.Rate/1000)
			}
		}
		quantile := 0.001 / math.Max(1e-3, 1-p.Rate/1000)
		if slow > share*(to-cut) {
			quantile = 2
		}
		r := judge(p, quantile, p.Rate > 1000)
		r.Stalls = seen
		return r
	}
}

func every(period, seconds float64) func(float64) (float64, float64) {
	return func(after float64) (float64, float64) {
		return (math.Floor(after/period) + 1) * period, seconds
	}
}

func TestStallsWhateverTheRate(t *testing.T) {
	irregular := rand.New(rand.NewPCG(5, 5))
	instants := []float64{0}
	for len(instants) < 5000 {
		instants = append(instants, instants[len(instants)-1]+3.5+36.5*irregular.ExpFloat64())
	}
	for _, c := range []struct {
		name string
		next func(float64) (float64, float64)
		tail float64 // that the quantile lets pass
		word Word
		why  string
		most float64
	}{
		{"3 s every 40 s, p95", every(40, 3), .05, Stalls, "stalls for about 3 s every 40 s, independently of the rate", 0},
		{"3 s every 40 s, p90", every(40, 3), .10, Identified, "stalls for about 3 s every 40 s, independently of the rate", 260},
		{"10 s every 25 min", every(1500, 10), .05, Identified, "", 960},
		{"3 s, irregular, p95", func(after float64) (float64, float64) {
			for _, at := range instants {
				if at > after {
					return at, 3
				}
			}
			return math.Inf(1), 3
		}, .05, Stalls, "at irregular intervals", 0},
	} {
		for start := 50.; start < 400; start *= 2 {
			s := Settings{Limits: []Limit{{"p95", .95, .1}}, Start: start, Longest: 600, ConfirmSeconds: 90, Seed: uint64(start)}
			a, probes := run(New(s), server{c.name, nil, clocked(stopping(c.next, c.tail))}, rand.New(rand.NewPCG(1, 1)))
			if a.Word != c.word || !strings.Contains(a.Why, c.why) || a.Sustained > c.most*1.01 {
				t.Errorf("%s from %g/s: %d probes, %+v", c.name, start, probes, a)
			}
		}
	}
}

func TestStallsAtOneRate(t *testing.T) {
	one := Stalling{Every: 38, Seconds: .1, Low: 733.62, High: 733.64}
	several := one
	several.High = 900
	for s, want := range map[Stalling]string{one: "(observed at 733.6/s)", several: "(observed at 733.6 to 900/s)"} {
		if got := s.String(); !strings.HasSuffix(got, want) {
			t.Errorf("%q does not end in %q", got, want)
		}
	}
}

// Stalls that take far less than the limit lets pass are named, and keep nothing from being found.
func TestHarmlessStallsAreNamedAndNoMore(t *testing.T) {
	serve := stopping(every(6, .1), .1)
	s := Settings{Limits: []Limit{{"p90", .9, .03}}, Start: 200, Highest: 3000, Seconds: 2, ConfirmSeconds: 12, Longest: 25}
	a, _ := run(New(s), server{"stops", nil, clocked(serve)}, rand.New(rand.NewPCG(1, 1)))
	if a.Word == Stalls || a.Sustained < 500 || !strings.Contains(a.Why, "stalls for about 100 ms") {
		t.Errorf("%+v", a)
	}
}

// Stalls that the floor missed by luck show when no rate passes long probes, whose
// intervals are too long to tell them.
func TestStallsThatTheFloorMissed(t *testing.T) {
	for offset := range 40 {
		serve := stopping(func(after float64) (at, seconds float64) {
			at, seconds = every(40, 3)(after + float64(offset))
			return at - float64(offset), seconds
		}, .05)
		long := func(p Probe, from, to float64) Result {
			r := serve(p, from, to)
			if (to-from)/200 > 2 {
				r.Stalls = nil
			}
			return r
		}
		s := Settings{Limits: []Limit{{"p95", .95, .02}}, Start: 400, Highest: 5000, Longest: 480, Seconds: 10, ConfirmSeconds: 30, Seed: uint64(offset)}
		a, probes := run(New(s), server{"stops", nil, clocked(long)}, rand.New(rand.NewPCG(1, 1)))
		if a.Word != Stalls || !strings.Contains(a.Why, "every 40 s, independently of the rate") {
			t.Errorf("offset %d: %d probes, %+v", offset, probes, a)
		}
	}
}

// A system with burst credit carries more until that is spent.
func TestBurstCredit(t *testing.T) {
	var found plantest.Rate
	for _, credit := range []float64{300, 3_000, 30_000} {
		for start := 50.; start < 900; start *= 2 {
			left, last := credit, 0.
			serve := clocked(func(p Probe, from, to float64) Result {
				left = math.Min(credit, left+400*(from-last))
				last = to
				left += (400 - p.Rate) * (to - from)
				queued := math.Max(0, -left)
				left = math.Max(0, math.Min(credit, left))
				if behind := queued / 400; behind > 0 { // seconds by which the last operation is late
					r := judge(p, behind, behind > 1)
					r.Achieved = p.Rate - queued/(to-from)
					return r
				}
				return judge(p, .001, false)
			})
			s := Settings{Limits: limits, Start: start, Highest: 3000, Longest: 600, ConfirmSeconds: 90, Seed: uint64(start)}
			a, probes := run(New(s), server{"bucket", nil, serve}, rand.New(rand.NewPCG(1, 1)))
			if a.Sustained > 1.01*400 || a.Sustained < .9*400 || a.Word == Identified && !(a.Step && a.Low <= 400 && 400 <= a.High) {
				t.Errorf("credit %g from %g/s: %d probes, %+v", credit, start, probes, a)
			}
			found.Count(a.Word == Identified)
		}
	}
	if found.Hits*4 < found.Of*3 {
		t.Errorf("the sustained rate was identified in %d of %d", found.Hits, found.Of)
	}
}

// bucket is a server of 300/s with burst credit of so many operations, which comes back in
// pauses between probes of about the given seconds; one probe in twenty is spoilt by a host
// that has no CPU for its generator.
func bucket(credit, pause float64) server {
	const sustained = 300.
	left, clock := credit, 0.
	return server{"bucket", constant(sustained), func(r *rand.Rand, p Probe, _ int) Result {
		idle := pause * (.3 + r.ExpFloat64())
		length := p.Seconds / .8
		left = math.Min(credit, left+sustained*idle) + (sustained-p.Rate)*length
		behind := -left / sustained
		left = math.Max(0, math.Min(credit, left))
		clock += idle + length
		out := judge(p, .001, false)
		if behind > 0 {
			out = judge(p, behind, behind > 1)
			out.Achieved = sustained
		}
		if r.Float64() < .05 { // a moment without CPU
			out = Result{Rate: p.Rate, Achieved: out.Achieved, GeneratorLimited: true, Starved: true}
		}
		out.From, out.To = clock-length, clock
		return out
	}}
}

// On a busy host pauses between probes are long and differ, and give credit back that
// passes any confirmation of a rate that is not sustained. Where they are short the rate
// is identified.
func TestBurstCreditOfABusyHost(t *testing.T) {
	n, seed := plantest.Repetitions(t, effort.Of(60), 2_000)
	for _, c := range []struct {
		shortest, longest, identified float64 // seconds of a pause, share of searches
	}{{.05, .3, .8}, {.15, 3, 0}} {
		var high, named, found plantest.Rate
		var claims []float64
		for i := range n {
			r := rand.New(rand.NewPCG(seed+uint64(i), 13))
			v := bucket(100*math.Exp(4*r.Float64()), c.shortest*math.Pow(c.longest/c.shortest, r.Float64()))
			s := Settings{Limits: []Limit{{"p90", .9, .03}}, Start: 200, Highest: 3000, Seconds: 2, ConfirmSeconds: 6, Longest: 32, Seed: uint64(i)}
			a, _ := run(New(s), v, r)
			high.Count(a.Sustained > 1.01*300)
			named.Count(a.Word != Identified || a.Low <= 300 && 300 <= a.High)
			found.Count(a.Word == Identified)
			claims = append(claims, a.Sustained/300)
		}
		t.Logf("pauses of %g to %g s: half of the claims are above %.3g of the truth", c.shortest, c.longest, plantest.Median(claims))
		high.AtMost(t, "claimed more than 1 % too high", .005)
		named.AtLeast(t, "an interval holds the truth", .95)
		found.AtLeast(t, "identified", c.identified)
		if low := plantest.Median(claims); low < .97 {
			t.Errorf("half of the claims are below %.3g of the truth", low)
		}
	}
}

// Credit that lasts until far above what is sustained leaves none for a probe far below.
func TestMuchBurstCreditIsNoFailureWhateverTheRate(t *testing.T) {
	for _, credit := range []float64{5_000, 5_400, 10_000} {
		for seed := range uint64(5) {
			r := rand.New(rand.NewPCG(seed, 17))
			s := Settings{Limits: []Limit{{"p90", .9, .03}}, Start: 200, Highest: 3000, Seconds: 2, ConfirmSeconds: 6, Longest: 32, Seed: seed}
			a, _ := run(New(s), bucket(credit, .1), r)
			if a.Word != Identified && a.Word != NotIdentified || a.Sustained < .9*300 || a.Sustained > 1.01*300 {
				t.Errorf("credit %g: %+v", credit, a)
			}
		}
	}
}
