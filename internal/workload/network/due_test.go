package network

import (
	"math"
	"slices"
	"testing"
	"time"

	"plimsoll/internal/load"
)

// The shards of a schedule are the schedule, whoever takes them.
func TestShardsAreTheSchedule(t *testing.T) {
	for _, a := range []load.Arrivals{{Rate: 3000}, {Rate: 3000, Poisson: true}} {
		whole := newDues(a, 7, load.Shard{Count: 1})
		var want, got []time.Duration
		for range 3000 {
			want = append(want, whole.next())
		}
		for i := range 3 {
			d := newDues(a, 7, load.Shard{Index: i, Count: 3})
			for range 1000 {
				got = append(got, d.next())
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%+v: the shards differ from the whole", a)
		}
		if mean := want[2999].Seconds() * 3000 / 2999; math.Abs(mean-1) > .1 {
			t.Errorf("%+v: 3000 in %s", a, want[2999])
		}
	}
}

func TestEvenArrivalsDoNotDrift(t *testing.T) {
	d := newDues(load.Arrivals{Rate: 3}, 0, load.Shard{Count: 1})
	for i := range 30_001 {
		if got, want := d.next(), time.Duration(math.Round(float64(i)/3*1e9)); got != want {
			t.Fatalf("message %d is due after %s, want %s", i, got, want)
		}
	}
}

// Gaps of a Poisson process are exponential (Kolmogorov and Smirnov, 1 % level).
func TestRandomArrivalsAreExponential(t *testing.T) {
	d := newDues(load.Arrivals{Rate: 1000, Poisson: true}, 11, load.Shard{Count: 1})
	const n = 5000
	gaps := make([]float64, n)
	before := time.Duration(0)
	for i := range gaps {
		now := d.next()
		gaps[i], before = (now - before).Seconds()*1000, now
	}
	slices.Sort(gaps)
	worst := 0.0
	for i, g := range gaps {
		p := 1 - math.Exp(-g)
		worst = max(worst, math.Abs(p-float64(i)/n), math.Abs(p-float64(i+1)/n))
	}
	if worst > 1.63/math.Sqrt(n) {
		t.Errorf("the gaps differ from exponential ones by %g", worst)
	}
}
