package load

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

func all(s Schedule) []time.Duration {
	var due []time.Duration
	for t, ok := s.Next(); ok; t, ok = s.Next() {
		due = append(due, t)
	}
	return due
}

func shape(t *testing.T, text string) Shape {
	t.Helper()
	if text == "" {
		return nil
	}
	s, err := ParseShape(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The whole of a schedule is its origin and its law: these instants are worked out by hand.
func TestSchedulesByHand(t *testing.T) {
	for _, c := range []struct {
		rate   float64
		shape  string
		trace  []time.Duration
		length time.Duration
		want   string
	}{
		{4, "", nil, time.Second, "[0s 250ms 500ms 750ms]"},
		{3, "", nil, time.Second, "[0s 333.333333ms 666.666667ms]"},
		// x + x^2/2 = n at 1/s rising to 3/s over 2 s: 4 operations, then 3 a second.
		{1, "ramp to 3 over 2s", nil, 3 * time.Second, "[0s 732.050808ms 1.236067977s 1.645751311s 2s 2.333333333s 2.666666667s]"},
		{2, "ramp to 0 over 2s", nil, 5 * time.Second, "[0s 585.786438ms 2s]"},
		{1, "steps 2 for 1s, 0 for 1s, 1 for 1s", nil, 4 * time.Second, "[0s 500ms 2s 3s]"},
		{2, "sine 0% every 1s", nil, time.Second, "[0s 500ms]"},
		// A wave of 2 s holds 2 operations; the second is due where x + (1 - cos(pi x))/pi = 1.
		{1, "sine 100% every 2s", nil, 5 * time.Second, "[0s 591.471943ms 2s 2.591471943s 4s 4.591471943s]"},
		{1e-10, "", nil, math.MaxInt64, "[0s]"}, // the next one is 317 years away, which no Duration holds
		{0.5, "", nil, 5 * time.Second, "[0s 2s 4s]"},
		{0, "", []time.Duration{0, 5, 5, 9, 12}, 10, "[0s 5ns 5ns 9ns]"},
	} {
		a := Arrivals{Rate: c.rate, Shape: shape(t, c.shape), Trace: c.trace}
		if err := a.Validate(); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(all(a.Schedule(1, c.length, Shard{}))); got != c.want {
			t.Errorf("%g/s %s: got %s, want %s", c.rate, c.shape, got, c.want)
		}
	}
}

func TestCountsAreExact(t *testing.T) {
	for _, rate := range []float64{1, 7, 999, 10_000, 300_000, 123_456.7} {
		n := len(all(Arrivals{Rate: rate}.Schedule(1, 3*time.Second, Shard{})))
		if want := int(math.Ceil(3 * rate)); n != want {
			t.Errorf("%g/s: %d operations in 3 s, want %d", rate, n, want)
		}
	}
	for text, want := range map[string]float64{"ramp to 5 over 10s": 30, "ramp to 0.5 over 4s": 6.0, "steps 1 for 5s, 3 for 5s": 20, "sine 50% every 5s": 10, "sine 100% every 2s": 10} {
		n := float64(len(all(Arrivals{Rate: 1000, Shape: shape(t, text)}.Schedule(1, 10*time.Second, Shard{}))))
		if math.Abs(n/(1000*want)-1) > .001 {
			t.Errorf("%s: %g operations in 10 s, want %g", text, n, 1000*want)
		}
	}
}

// A rounded period that is added up would be 0.6 % off at this rate.
func TestHighRatesDoNotDrift(t *testing.T) {
	const rate = 7e6
	s := Arrivals{Rate: rate}.Schedule(1, math.MaxInt64, Shard{}).(*even)
	s.next = 7e6*3600 - 1 // the last operation of an hour
	if due, _ := s.Next(); due != time.Hour-143*time.Nanosecond {
		t.Errorf("the last operation of an hour is due %s before its end", time.Hour-due)
	}
}

func TestShardsAreTheWhole(t *testing.T) {
	for _, a := range []Arrivals{
		{Rate: 1234}, {Rate: 1234, Poisson: true}, {Rate: 500, Poisson: true, Shape: shape(t, "ramp to 4 over 1s")},
		{Rate: 500, Shape: shape(t, "sine 90% every 300ms")}, {Trace: []time.Duration{1, 2, 3, 3, 3, 9}},
	} {
		whole := all(a.Schedule(5, 2*time.Second, Shard{}))
		for _, count := range []int{2, 3, 7} {
			var union []time.Duration
			for i := range count {
				part := all(a.Schedule(5, 2*time.Second, Shard{i, count}))
				if len(part) > 1 && !slices.IsSorted(part) {
					t.Error("a shard goes back in time")
				}
				union = append(union, part...)
			}
			slices.Sort(union)
			if !slices.Equal(whole, union) {
				t.Errorf("%+v in %d shards: %d operations, whole %d", a, count, len(union), len(whole))
			}
		}
	}
}

// Kolmogorov and Smirnov: the gaps of a Poisson schedule are exponential. The
// distance is below 1.63/sqrt(n) in 99 of 100 cases, and the seed is fixed.
func TestPoissonGapsAreExponential(t *testing.T) {
	for _, c := range []struct{ shape string }{{""}, {"ramp to 3 over 10s"}, {"sine 80% every 1s"}} {
		s := shape(t, c.shape)
		due := all(Arrivals{Rate: 2000, Poisson: true, Shape: s}.Schedule(11, 10*time.Second, Shard{}))
		gaps := make([]float64, len(due)-1)
		expected := func(d time.Duration) float64 {
			if s == nil {
				return 2000 * d.Seconds()
			}
			return 2000 * s.Expected(d)
		}
		for i := range gaps {
			gaps[i] = expected(due[i+1]) - expected(due[i]) // of rate 1, whatever the shape
		}
		slices.Sort(gaps)
		distance, n := 0., float64(len(gaps))
		for i, g := range gaps {
			p := 1 - math.Exp(-g)
			distance = max(distance, math.Abs(p-float64(i)/n), math.Abs(float64(i+1)/n-p))
		}
		if distance > 1.63/math.Sqrt(n) {
			t.Errorf("%q: distance %.4f of %.0f gaps from exponential", c.shape, distance, n)
		}
	}
	one := all(Arrivals{Rate: 100, Poisson: true}.Schedule(1, time.Second, Shard{}))
	if two := all(Arrivals{Rate: 100, Poisson: true}.Schedule(2, time.Second, Shard{})); slices.Equal(one, two) {
		t.Error("two seeds give the same arrivals")
	}
}

func TestNextAllocatesNothing(t *testing.T) {
	for _, a := range []Arrivals{{Rate: 1000}, {Rate: 1000, Poisson: true}, {Rate: 9, Shape: shape(t, "sine 20% every 10s")}, {Trace: make([]time.Duration, 5000)}} {
		s := a.Schedule(1, time.Hour, Shard{0, 3})
		if n := testing.AllocsPerRun(1000, func() { s.Next() }); n != 0 {
			t.Errorf("%+v allocates %g times an operation", a, n)
		}
	}
}

func TestArrivalsRefused(t *testing.T) {
	for want, a := range map[string]Arrivals{
		"not between":           {Rate: -1},
		"mutually exclusive":    {Rate: 1, Trace: []time.Duration{1}},
		"shape requires a rate": {Poisson: true},
		"omit shape":            {Trace: []time.Duration{1}, Poisson: true},
		"ascending from 0":      {Trace: []time.Duration{2, 1}},
		"NaN/s is not ":         {Rate: math.NaN()},
	} {
		if err := a.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", a, err, want)
		}
	}
}

func TestShapesRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "must be ramp, steps or sine",
		"jump to 5":                "must be ramp, steps or sine",
		"ramp to 5":                "expected ramp to MULTIPLE over TIME",
		"ramp to -1 over 5s":       "is not a multiple of the rate",
		"ramp to 5 over 5":         "is not a time with its unit",
		"steps 1 for 5s, 2":        "expected steps MULTIPLE for TIME",
		"sine 20 every 5s":         "expected sine SHARE every TIME",
		"sine 120% every 5s":       "expected sine SHARE every TIME",
		"sine 20% every -5s":       "is not a time with its unit",
		"steps NaN for 5s":         "is not a multiple of the rate",
		"ramp to 1e9 over 1s":      "is not a multiple of the rate",
		"steps 0 for 1h, 0 for 1s": "all steps are 0",
	} {
		if _, err := ParseShape(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// What is written in a study is what reports show.
func TestShapesAreWrittenAsTheyAreRead(t *testing.T) {
	for _, text := range []string{"ramp to 5 over 1m0s", "steps 1 for 10s, 2.5 for 10s", "sine 7% every 10s", "sine 12.3% every 1m0s"} {
		if got := shape(t, text).String(); got != text {
			t.Errorf("%q is written %q", text, got)
		}
	}
}

// Results are compared over years: a seed must mean the same arrivals in each version.
func TestPoissonIsFixedByItsSeed(t *testing.T) {
	const want = "[337.995554ms 692.502907ms 717.211811ms 718.674813ms 845.993865ms]"
	if got := fmt.Sprint(all(Arrivals{Rate: 5, Poisson: true}.Schedule(42, time.Second, Shard{}))); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func FuzzSchedulesNeverFall(f *testing.F) {
	f.Add("sine 100% every 1s", 1e6, uint64(1), true)
	f.Add("steps 5 for 1s, 0 for 1s", 3., uint64(2), false)
	f.Add("ramp to 0 over 2s", 1e5, uint64(3), true)
	f.Add("", 1e-10, uint64(4), false)
	f.Fuzz(func(t *testing.T, text string, rate float64, seed uint64, poisson bool) {
		a := Arrivals{Rate: rate, Poisson: poisson}
		if s, err := ParseShape(text); err == nil {
			a.Shape = s
		}
		if rate == 0 || a.Validate() != nil {
			return
		}
		s, last := a.Schedule(seed, math.MaxInt64, Shard{Index: 1, Count: 3}), time.Duration(0)
		for range 1000 {
			due, ok := s.Next()
			if !ok {
				_, ok = s.Next()
				if ok {
					t.Fatalf("%+v ends and goes on", a)
				}
				return
			}
			if due < last {
				t.Fatalf("%+v: due at %d ns after %d ns", a, due, last)
			}
			last = due
		}
	})
}

func FuzzShape(f *testing.F) {
	for _, text := range []string{"ramp to 5 over 60s", "steps 1 for 10s, 2 for 10s", "sine 20% every 10s", "ramp to 0 over 1us", "steps 0 for 1h, 1 for 1s", "sine 100% every 3us"} {
		f.Add(text, 7.5)
	}
	f.Fuzz(func(t *testing.T, text string, n float64) {
		s, err := ParseShape(text)
		if err != nil {
			return
		}
		again, err := ParseShape(s.String())
		if err != nil || again.String() != s.String() {
			t.Fatalf("%q is written %q, which reads %v, %v", text, s, again, err)
		}
		n = math.Mod(math.Abs(n), 1e6)
		at := s.At(n)
		if math.IsNaN(n) || math.IsNaN(at) || math.IsInf(at, 0) || at > 1e6 {
			return
		}
		if at < 0 {
			t.Fatalf("%s: operation %g is due at %g s", s, n, at)
		}
		// The integral is flat where the rate is 0, and steep where it is large.
		back, steep := s.Expected(instant(at)), s.Expected(instant(at)+2)-s.Expected(instant(at)-2)
		if math.Abs(back-n) > 1e-9*(1+n)+math.Abs(steep) {
			t.Fatalf("%s: operation %g is due at %g s, when %g were expected", s, n, at, back)
		}
	})
}

func TestReadTrace(t *testing.T) {
	got, err := readTrace(strings.NewReader("# seconds\n0\n 0.5\n\n1e0\n1\n"))
	if want := []time.Duration{0, 500 * time.Millisecond, time.Second, time.Second}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	for text, want := range map[string]string{
		"0\n1\n0.5\n":                          "line 3: 0.5 s is before the time of the previous line",
		"0\nx\n":                               `line 2: "x" is not a time in seconds from 0`,
		"-1\n":                                 `line 1: "-1" is not a time in seconds from 0`,
		"# nothing\n":                          "at least one time",
		"1e300\n":                              `line 1: "1e300" is not a time in seconds from 0`,
		"0\n1\n" + strings.Repeat("1", 70_000): "line 3: bufio.Scanner: token too long",
	} {
		if _, err := readTrace(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzReadTrace(f *testing.F) {
	f.Add([]byte("0\n0.5\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		trace, err := readTrace(strings.NewReader(string(text)))
		if err == nil && (Arrivals{Trace: trace}).Validate() != nil {
			t.Errorf("%q is read as a trace that is none", text)
		}
	})
}

func TestThink(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	if d := (Think{Mean: time.Second}).Draw(rng); d != time.Second {
		t.Errorf("a fixed pause of 1 s is %s", d)
	}
	if (Think{Mean: -1}).Validate() == nil || (Think{}).Validate() != nil {
		t.Error("pauses less than none pass, or none does not")
	}
	for _, think := range []Think{{Mean: time.Millisecond, Exponential: true}, {Mean: time.Millisecond, Uniform: true}} {
		sum, longest, n := time.Duration(0), time.Duration(0), 100_000
		for range n {
			d := think.Draw(rng)
			sum, longest = sum+d, max(longest, d)
		}
		if mean := sum / time.Duration(n); mean < 985*time.Microsecond || mean > 1015*time.Microsecond {
			t.Errorf("pauses %+v are %s on average", think, mean)
		}
		if (longest < 2*time.Millisecond) != think.Uniform {
			t.Errorf("the longest of pauses %+v is %s", think, longest)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	for _, text := range []string{"", "ramp to 5 over 60s", "steps 1 for 10s, 2 for 10s", "sine 20% every 10s", "sine 100% every 1s"} {
		a := Arrivals{Rate: 1e5}
		a.Shape, _ = ParseShape(text)
		s := a.Schedule(1, math.MaxInt64, Shard{})
		b.Run(text, func(b *testing.B) {
			for b.Loop() {
				s.Next()
			}
		})
	}
}
