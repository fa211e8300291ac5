package rule

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/quick"
	"time"
)

// joining is one sample for each session that has joined, with responses that rise by so many seconds for each beyond 40.
func joining(slope float64) (samples []Sample) {
	for n := 1; n <= 120; n++ {
		samples = append(samples, Sample{n, 1 + slope*float64(max(0, n-40))})
	}
	return samples
}

func named(t *testing.T, name string) Rule {
	t.Helper()
	for _, r := range All() {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("no rule %s", name)
	return Rule{}
}

func TestVectors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule  string
		slope float64
		want  Answer
	}{
		{"v41", .050, Answer{Judged: true, Baseline: 1, Limit: 2, Reached: true, Sessions: 77, Average: 2.025}},
		{"v41", .020, Answer{Judged: true, Baseline: 1, Limit: 2, Reached: true, Sessions: 115, Average: 2.020}},
		{"v41", 0, Answer{Judged: true, Baseline: 1, Limit: 2, Sessions: 120, Average: 1}},
		{"v40", .050, Answer{Judged: true, Baseline: 1, Limit: 2, Reached: true, Sessions: 77, Average: 2.025}},
		{"v3", .050, Answer{Judged: true, Baseline: 1, Limit: 4.25, Sessions: 120, Average: 3.7}},
	} {
		got := named(t, c.rule).Judge(nil, joining(c.slope))
		got.Average, got.Baseline = round(got.Average), round(got.Baseline)
		if got != c.want {
			t.Errorf("%s, slope %g: %+v, want %+v", c.rule, c.slope, got, c.want)
		}
	}
}

func round(v float64) float64 { return math.Round(v*1e9) / 1e9 }

// At 77 sessions the average of 35 is exactly the limit, which it must exceed.
func TestTheLimitItselfIsKept(t *testing.T) {
	t.Parallel()
	samples := joining(.05)[:77]
	if a := named(t, "v41").Judge(nil, samples); a.Reached || round(a.Average) != 2 || a.Sessions != 77 {
		t.Errorf("%+v", a)
	}
}

func TestWindows(t *testing.T) {
	t.Parallel()
	for sessions, want := range map[int]int{1: 5, 2: 5, 3: 6, 5: 7, 60: 29, 77: 35, 78: 36, 100: 45} {
		if got := window(sessions); got != want {
			t.Errorf("%d sessions: %d samples, want %d", sessions, got, want)
		}
	}
	for _, c := range []struct{ samples, percent, left int }{{5, 5, 3}, {29, 5, 27}, {30, 5, 26}, {35, 5, 31}, {53, 2, 51}, {100, 2, 96}} {
		samples := make([]Sample, c.samples)
		for i := range samples { // beyond those that are cut the mean is 1
			samples[i] = Sample{1, 1}
		}
		for i := range (c.samples - c.left) / 2 {
			samples[i].Response, samples[len(samples)-1-i].Response = -1000, 5000
		}
		if got := trimmed(samples, c.percent); got != 1 {
			t.Errorf("%d samples without %d %%: mean %g", c.samples, c.percent, got)
		}
	}
}

func TestBaselines(t *testing.T) {
	t.Parallel()
	var base []float64
	for i := range 40 {
		base = append(base, float64(40-i)) // 40, 39, ... 1
	}
	if got := Baseline(base); got != 9 { // 3 to 15
		t.Errorf("the baseline is %g", got)
	}
	if got := Baseline([]float64{4, 1, 2, 3}); got != 3.5 {
		t.Errorf("the baseline of few is %g", got)
	}
	if got := Baseline([]float64{4}); got != 4 {
		t.Errorf("the baseline of one is %g", got)
	}
	if !math.IsNaN(Baseline(nil)) {
		t.Error("no value has a baseline")
	}
	loaded := joining(.05)[60:]
	for rule, want := range map[string]float64{"v41": 9, "v40": 14, "v3": 20.5} { // v40: 3 to 25
		if got := named(t, rule).Judge(base, loaded).Baseline; got != want {
			t.Errorf("%s: the base phase gives %g, want %g", rule, got, want)
		}
	}
	if got := round(named(t, "v40").Judge(nil, joining(.05)).Baseline); got != 1 {
		t.Errorf("v40 without a base phase: %g", got)
	}
	for _, r := range All() {
		if a := r.Judge(nil, nil); a.Judged || a.Reached {
			t.Errorf("%s judges nothing: %+v", r.Name, a)
		}
	}
	if a := named(t, "v41").Judge(nil, joining(0)[:14]); a.Judged {
		t.Errorf("14 samples are judged: %+v", a)
	}
}

// A base phase finds the baseline where the ramp has none left: without one, the small system seems to carry more.
func TestBasePhaseOfASmallSystem(t *testing.T) {
	t.Parallel()
	var ramp []Sample
	for n := 1; n <= 14; n++ {
		for range 3 {
			ramp = append(ramp, Sample{n, 1 + .5*float64(max(0, n-4))})
		}
	}
	r := named(t, "v41")
	with, without := r.Judge([]float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, ramp), r.Judge(nil, ramp)
	if !with.Reached || !without.Reached || with.Baseline >= without.Baseline || with.Sessions > without.Sessions {
		t.Errorf("with a base phase %+v, without %+v", with, without)
	}
}

func TestProperties(t *testing.T) {
	t.Parallel()
	made := func(seed uint64) []Sample {
		rng := rand.New(rand.NewPCG(seed, 1))
		samples, slope := []Sample{}, rng.Float64()/10
		for n := 1; n <= 100; n++ {
			for range 1 + rng.IntN(3) {
				samples = append(samples, Sample{n, 1 + rng.Float64() + slope*float64(n)})
			}
		}
		return samples
	}
	for _, r := range All() {
		property := func(seed uint64) bool {
			samples := made(seed)
			a := r.Judge(nil, samples)
			more := slices.Clone(samples)
			for i := range more { // whatever gets slower with the number of sessions carries no more
				more[i].Response += .05 * float64(more[i].Sessions)
			}
			base := responses(samples[:30])
			slower := r.Judge(base, more)
			same := r.Judge(base, samples)
			largest := samples[len(samples)-1].Sessions
			return a.Sessions >= 0 && a.Sessions <= largest && a.Reached == (a.Average > a.Limit+rounding) && slower.Sessions <= same.Sessions && (a.Reached || a.Sessions == largest)
		}
		if err := quick.Check(property, &quick.Config{MaxCount: 200, Rand: nil}); err != nil {
			t.Errorf("%s: %v", r.Name, err)
		}
	}
}

func TestCorrected(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sessions, stuck, lost int
		want                  float64
	}{{77, 0, 0, 77}, {77, 3, 2, 73.5}, {1, 4, 4, 0}} {
		if got := Corrected(c.sessions, c.stuck, c.lost); got != c.want {
			t.Errorf("%+v gives %g", c, got)
		}
	}
}

func TestLag(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sessions    int
		period, gap time.Duration
		want        float64
	}{
		{10, 60 * time.Second, 60 * time.Second, .45}, // 9 samples of 10 sessions
		{7, 18 * time.Second, 12 * time.Second, .75},
		{100, 60 * time.Second, 30 * time.Second, .45},
		{0, time.Second, time.Second, 0}, {5, time.Second, 0, 0},
	} {
		if got := Lag(c.sessions, c.period, c.gap); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v gives %g", c, got)
		}
	}
}
