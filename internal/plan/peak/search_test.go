package peak

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"plimsoll/internal/difftest"
	"plimsoll/internal/plan/plantest"
	"plimsoll/internal/stat"
)

// transcript carries a search out and writes down what was asked and answered.
func transcript(s *Search, v server, seed uint64) (probes []Probe, results []Result) {
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range 1000 {
		p, ok := s.Next()
		if !ok {
			break
		}
		if again, _ := s.Next(); again != p {
			panic("Next moved on without Done")
		}
		out := v.serve(r, p, i)
		probes, results = append(probes, p), append(results, out)
		s.Done(out)
	}
	return probes, results
}

// A search that was cut short, which leaves no goroutine, goes on where it was when another one
// is told its results.
func TestSearchResumes(t *testing.T) { synctest.Test(t, searchResumes) }

func searchResumes(t *testing.T) {
	v := single("", constant(1000))
	first := New(asked)
	probes, results := transcript(first, v, 4)
	for cut := range results {
		s := New(asked)
		for _, r := range results[:cut] {
			s.Done(r)
		}
		if p, ok := s.Next(); !ok || p != probes[cut] {
			t.Fatalf("after %d results: %+v, want %+v", cut, p, probes[cut])
		}
		s.Close()
		s.Done(results[cut])
		if _, ok := s.Next(); ok {
			t.Fatalf("after %d results it is closed, and asks for another", cut)
		}
		if a := s.Answer(); a.Word != "" || a.Probes != cut {
			t.Fatalf("after %d results there is an answer already: %+v", cut, a)
		}
	}
	before := first.Answer()
	first.Done(Result{Pass: true})
	if lines := difftest.Lines(first.Answer(), before); lines != "" {
		t.Errorf("a result after the end changed the answer:\n%s", lines)
	}
}

func TestPhasesOfASearch(t *testing.T) {
	probes, _ := transcript(New(asked), single("", constant(1000)), 4)
	want := []Phase{Bracket, Floor, Rungs, Burst, Confirm}
	var got []Phase
	blocks := map[int]map[int]bool{}
	for _, p := range probes {
		if len(got) == 0 || got[len(got)-1] != p.Phase {
			got = append(got, p.Phase)
		}
		if p.Phase == Rungs {
			if blocks[p.Block] == nil {
				blocks[p.Block] = map[int]bool{}
			}
			blocks[p.Block][p.Level] = true
		}
		// 10,000 operations for p99, and never less than the settings say.
		least := map[bool]float64{false: 30, true: 90}[p.Phase == Confirm || p.Phase == Floor]
		if want := math.Max(least, 10_000/p.Rate); math.Abs(p.Seconds-want) > 1e-6*want {
			t.Errorf("%+v: want %g s", p, want)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("phases %v, want %v", got, want)
	}
	if len(blocks) != 3 || len(blocks[0]) < 5 || len(blocks[1]) != len(blocks[0]) || len(blocks[2]) != len(blocks[0]) {
		t.Errorf("blocks are not complete: %v", blocks)
	}
}

// A probe that the generator spoilt is tried again, and does not decide anything.
func TestAHiccupOfTheGenerator(t *testing.T) {
	clean, _ := run(New(asked), single("", constant(1000)), rand.New(rand.NewPCG(9, 9)))
	r := rand.New(rand.NewPCG(9, 9))
	s, v := New(asked), single("", constant(1000))
	for i := 0; ; i++ {
		p, ok := s.Next()
		if !ok {
			break
		}
		if i%7 == 3 {
			s.Done(Result{GeneratorLimited: true})
			if again, ok := s.Next(); !ok || again != p {
				t.Fatalf("%+v is not tried again but %+v", p, again)
			}
		}
		s.Done(v.serve(r, p, 0))
	}
	got := s.Answer()
	if got.Probes <= clean.Probes {
		t.Errorf("%d probes with hiccups, %d without", got.Probes, clean.Probes)
	}
	if got.Estimate != clean.Estimate || got.Sustained != clean.Sustained || got.Word != Identified {
		t.Errorf("hiccups changed %v to %v", clean, got)
	}
}

// A generator carries the rates below one that passed: where their probes are void, as the floor's on a host that
// stalls, rates above are tried all the same.
func TestVoidBelowAPassIsNoCeiling(t *testing.T) {
	v := single("", constant(1000))
	void := server{truth: v.truth, serve: func(r *rand.Rand, p Probe, i int) Result {
		if p.Phase == Floor {
			return Result{GeneratorLimited: true}
		}
		return v.serve(r, p, i)
	}}
	for seed := range uint64(10) {
		if a, _ := run(New(asked), void, rand.New(rand.NewPCG(seed, 9))); a.Word != Identified || !(a.Sustained > 700) {
			t.Errorf("seed %d, floor void: %+v", seed, a)
		}
	}
}

func TestJudged(t *testing.T) {
	for _, c := range []struct {
		in     Result
		pass   bool
		reason string
	}{
		{Result{Rate: 100, Achieved: 99.5, Pass: true}, true, ""},
		{Result{Rate: 100, Achieved: 98.9, Pass: true}, false, "throughput"},
		{Result{Rate: 100, Achieved: 98.9, Reason: "p99"}, false, "p99"},
		{Result{Rate: 100, Pass: true}, true, ""},
		{Result{Rate: 100, Achieved: 100, Pass: true, Overloaded: true}, false, "overload"},
	} {
		if got := c.in.judged(); got.Pass != c.pass || got.Reason != c.reason {
			t.Errorf("%+v: %+v", c.in, got)
		}
	}
}

// Whatever it is told, a search ends, and asks for nothing outside its range.
func TestSearchEndsWhateverItIsTold(t *testing.T) {
	n, first := plantest.Repetitions(t, 500, 10_000)
	words := map[Word]int{}
	for seed := first; seed < first+uint64(n); seed++ {
		r := rand.New(rand.NewPCG(seed, 11))
		s := Settings{Limits: limits[:r.IntN(2)], Start: math.Exp(10 * r.Float64()), Seed: seed, Blocks: 1 + r.IntN(4)}
		if r.IntN(2) == 0 {
			s.Highest, s.Lowest = s.Start*(0.5+10*r.Float64()), s.Start*r.Float64()
		}
		pass, spoilt := r.Float64(), r.Float64()*r.Float64()
		search := []func() *Search{
			func() *Search { return New(s) }, func() *Search { return NewBracket(s) }, func() *Search { return NewLadder(s, s.Start, int(seed)) },
		}[r.IntN(3)]()
		full := s.Defaults()
		probes := 0
		for {
			p, ok := search.Next()
			if !ok {
				break
			}
			if probes++; probes > 400 {
				t.Fatalf("seed %d: no end after %d probes", seed, probes)
			}
			if !(p.Rate > 0) || p.Rate > full.Highest*(1+1e-9) || p.Phase == Bracket && p.Rate < full.Lowest*(1-1e-9) || !(p.Seconds >= 30) || math.IsInf(p.Seconds, 1) {
				t.Fatalf("seed %d: %+v is outside %g..%g", seed, p, full.Lowest, full.Highest)
			}
			out := Result{Pass: r.Float64() < pass, GeneratorLimited: r.Float64() < spoilt, Overloaded: r.Float64() < 0.1}
			for range r.IntN(3) {
				out.Quantiles = append(out.Quantiles, []float64{math.NaN(), 0, -1, math.Inf(1), 0.01 * r.ExpFloat64(), 0.01 * r.ExpFloat64()}[r.IntN(6)])
			}
			search.Done(out)
		}
		a := search.Answer()
		words[a.Word]++
		if a.Word == "" || a.Word == Identified != !math.IsNaN(a.Estimate) || a.Word == Identified && !(a.Low <= a.Estimate && a.Estimate <= a.High) ||
			a.Word != Identified && a.Word != Bracketed && a.Why == "" || a.Sustained < 0 {
			t.Fatalf("seed %d: %+v", seed, a)
		}
	}
	t.Logf("%v", words)
	for _, w := range []Word{AboveRange, NeverPassed, NotIdentified, GeneratorLimited, Bracketed} {
		if words[w] == 0 {
			t.Errorf("%q was never answered", w)
		}
	}
}

func TestEstimate(t *testing.T) {
	rates := []float64{900, 940, 980, 1020, 1060}
	of := func(f func(rate float64, i int) float64) []Point {
		var out []Point
		for i := range 15 {
			out = append(out, Point{rates[i%5], f(rates[i%5], i)})
		}
		return out
	}
	wiggle := func(i int) float64 { return 1 + 0.01*math.Sin(float64(i*i)) }
	knee := func(rate float64, i int) float64 { return 4.6 / (1230 - rate) * wiggle(i) }
	for _, c := range []struct {
		what   string
		points []Point
		limit  float64
		word   Word
		why    string
	}{
		{"knee", of(knee), 0.02, Identified, ""},
		{"nothing", nil, 0.02, NotIdentified, "too few levels"},
		{"no response times", of(func(float64, int) float64 { return math.NaN() }), 0.02, NotIdentified, "too few levels"},
		{"one rate", []Point{{900, 0.01}, {900, 0.02}, {900, 0.03}}, 0.02, NotIdentified, "too few levels"},
		{"faster under load", of(func(rate float64, i int) float64 { return 20 / rate * wiggle(i) }), 0.02, NotIdentified, "does not rise"},
		{"cliff", of(func(rate float64, i int) float64 {
			return map[bool]float64{true: 0.002, false: 1}[rate < 1000] * wiggle(i)
		}), 0.02, NotIdentified, "cliff"},
		{"limit far above", of(knee), 0.2, NotIdentified, "outside the rates"},
		{"limit far below", of(knee), 0.008, NotIdentified, "outside the rates"},
		{"zigzag", of(func(rate float64, i int) float64 {
			return 4.6 / (1230 - rate) * wiggle(i) * map[bool]float64{true: 1.15, false: 0.85}[int(rate/40)%2 == 0]
		}), 0.02, NotIdentified, "lack of fit"},
		{"noise", of(func(rate float64, i int) float64 { return 1 / (50 - 0.02*(rate-1000) + 10*float64(1-2*(i%2))) }), 0.02, NotIdentified, "noise hides"},
	} {
		f := Estimate(c.points, c.limit, 0.95)
		if f.Word != c.word || !strings.Contains(f.Why, c.why) {
			t.Errorf("%s: %+v, want %s because %q", c.what, f, c.word, c.why)
		}
		if f.Word == Identified && (!f.Crosses || !(f.Low < 1000 && 1000 < f.High)) {
			t.Errorf("%s: %+v", c.what, f)
		}
	}
	// One overloaded probe takes its whole level out, and the answer stays.
	spoilt := of(knee)
	spoilt[4].Seconds = math.NaN()
	if f := Estimate(spoilt, 0.02, 0.95); f.Word != Identified || math.Abs(f.Rate-1000) > 10 {
		t.Errorf("without the highest level: %+v", f)
	}
}

// The model of a probe in these tests against queues simulated request by request.
func TestTheBlur(t *testing.T) {
	n, seed := plantest.Repetitions(t, 100, 1500)
	for _, offered := range []float64{700, 770, 810} {
		free := 1000 - offered
		var logs []float64
		r := rand.New(rand.NewPCG(seed, 1))
		for range n {
			logs = append(logs, math.Log(queue(r, 1000, offered, 30)*free/math.Log(100)))
		}
		mean, squares := stat.Moments(logs)
		sd, want := math.Sqrt(squares/float64(n-1)), blur*230/free
		t.Logf("%g/s: p99 of 30 s is off by %.3f, standard deviation %.3f, the model has %.3f", offered, mean, sd, want)
		if math.Abs(sd/want-1) > 0.25 || math.Abs(mean) > 0.035 {
			t.Errorf("%g/s: the model does not hold", offered)
		}
	}
}

// queue returns the p99 of M/M/1 over a probe, by Lindley's recursion.
func queue(r *rand.Rand, mu, offered, seconds float64) float64 {
	wait := 0.0
	times := make([]float64, 0, int(offered*seconds))
	for i := range int(offered*seconds) + 2000 {
		service := r.ExpFloat64() / mu
		if i >= 2000 {
			times = append(times, wait+service)
		}
		wait = math.Max(0, wait+service-r.ExpFloat64()/offered)
	}
	slower := len(times) - int(math.Ceil(0.99*float64(len(times)))) // than the p99
	for least := math.Log(100) / (mu - offered) / 2; ; least /= 2 {
		tail := slices.DeleteFunc(slices.Clone(times), func(v float64) bool { return v < least })
		if len(tail) > slower {
			slices.Sort(tail)
			return tail[len(tail)-1-slower]
		}
	}
}

// The whole search on queues of single requests, whose speed differs by 1 % between probes.
func TestSearchOnRealQueues(t *testing.T) {
	n, seed := plantest.Repetitions(t, 4, 150)
	v := server{"queue", constant(1000 - math.Log(100)/limit), func(r *rand.Rand, p Probe, _ int) Result {
		mu := 1000 * math.Exp(speedNoise*r.NormFloat64())
		if p.Rate > 0.995*mu {
			return judge(p, 10, true)
		}
		return judge(p, queue(r, mu, p.Rate, p.Seconds), false)
	}}
	c := many(n, seed, asked, v)
	t.Log(c)
	c.word(Identified).AtLeast(t, "identified", 0.90)
	c.covered.AtLeast(t, "covered", 0.90)
	c.high.AtMost(t, "claimed more than 1 % too high", 0.02)
}
