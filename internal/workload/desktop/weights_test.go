package desktop

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestReference(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b"}
	var times [][]float64
	for i := range 20 {
		times = append(times, []float64{.5, .1 + .001*float64(i)})
	}
	r := newReference(names, []int{1, 17}, times)
	if math.Abs(r.weight(0)-.4) > 1e-9 || math.Abs(r.seconds[1]-.108) > 1e-9 || math.Abs(r.baseline()-.4) > 1e-9 {
		t.Errorf("%+v: weight %g, baseline %g", r, r.weight(0), r.baseline())
	}
	if got := r.response([]float64{1, .216}); math.Abs(got-.8) > 1e-9 {
		t.Errorf("twice the times are a response of %g", got)
	}
	again, err := parseReference(r.String(), names)
	if err != nil || again.String() != r.String() || !slices.Equal(again.repeats, r.repeats) {
		t.Errorf("%v: %s", err, again)
	}
	if text := r.describe(); !strings.Contains(text, "a 0.4 (0.5 s)") || !strings.Contains(text, "17 times") || !strings.Contains(text, "baseline 0.4 s of 20 loops") {
		t.Error(text)
	}
	for _, bad := range []string{"", "a=1*0.5 b=1*0.1", "a=1*0.5 loops=1", "b=1*0.1 a=1*0.5 loops=1", "a=0*0.5 b=1*0.1 loops=1", "a=1*0 b=1*0.1 loops=1", "a=1*x b=1*0.1 loops=1", "a=1*1 b=1*1 loops=1,NaN", "a=1*1 b=1*+Inf loops=1", "a=1*1 b=1*1 loops=-1"} {
		if _, err := parseReference(bad, names); err == nil {
			t.Errorf("%q passes", bad)
		}
	}
}

func FuzzReference(f *testing.F) {
	f.Add("a=1*0.5 b=17*0.1 loops=0.4,0.41")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseReference(text, []string{"a", "b"})
		if err != nil {
			return
		}
		again, err := parseReference(r.String(), []string{"a", "b"})
		if err != nil || again.String() != r.String() || !(r.baseline() > 0) {
			t.Errorf("%q: %v, %s", text, err, again)
		}
	})
}

func TestMemory(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"":                    true,
		"MemTotal: 1000 kB\n": true,
		"MemTotal: 1000000 kB\nMemAvailable: 50000 kB\n": true,
		"MemTotal: 1000000 kB\nMemAvailable: 30000 kB\n": false,
	} {
		if err := enoughMemory([]byte(text)); (err == nil) != want || err != nil && !strings.HasPrefix(err.Error(), "memory: ") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if parseKills("pgfault 7\noom_kill 3\n") != 3 || parseKills("x") != 0 {
		t.Error("the kills of the kernel are not counted")
	}
	for text, want := range map[string]time.Duration{
		"some avg10=0.00 avg60=0.00 avg300=0.00 total=1500\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n": 1500 * time.Microsecond,
		"full total=7\n": -1, "some total=x\n": -1, "": -1,
	} {
		if got, ok := parsePressure(text); ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
}

func FuzzKernel(f *testing.F) {
	f.Add("some avg10=0.00 total=1500\noom_kill 3\nMemTotal: 10 kB\nMemAvailable: 1 kB\n")
	f.Fuzz(func(t *testing.T, text string) {
		if total, ok := parsePressure(text); ok && total < 0 {
			t.Errorf("%s", total)
		}
		_, _ = parseKills(text), enoughMemory([]byte(text))
	})
}
