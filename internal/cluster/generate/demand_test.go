package generate

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// correlation is Pearson's, of two series of equal length.
func correlation(a, b []float64) float64 {
	var ma, mb float64
	for i := range a {
		ma, mb = ma+a[i]/float64(len(a)), mb+b[i]/float64(len(a))
	}
	var ab, aa, bb float64
	for i := range a {
		ab, aa, bb = ab+(a[i]-ma)*(b[i]-mb), aa+(a[i]-ma)*(a[i]-ma), bb+(b[i]-mb)*(b[i]-mb)
	}
	return ab / math.Sqrt(aa*bb)
}

func lagged(x []float64, lag int) float64 { return correlation(x[:len(x)-lag], x[lag:]) }

func typical(hosts int, seed uint64) *trace { return newTrace(Typical(hosts, seed)) }

func TestDemandGoesWithTheDayAndTheWeek(t *testing.T) {
	for seed := range uint64(3) {
		x := typical(16, seed)
		var all []float64
		for hour := range int64(6 * 7 * 24) {
			sum := 0.
			for i := range x.vms {
				sum += float64(x.sample(i, hour*60).CPU)
			}
			all = append(all, sum)
		}
		day, half := lagged(all, 24), lagged(all, 12)
		week, halfWeek := lagged(all, 7*24), lagged(all, 7*24/2)
		if day < .7 || half > 0 {
			t.Errorf("seed %d: autocorrelation %.2f at a day and %.2f at half of one", seed, day, half)
		}
		// Half a week is three and a half days; without the daily cycle, the weekly one
		// remains.
		var days []float64
		for d := range len(all) / 24 {
			sum := 0.
			for _, v := range all[d*24 : (d+1)*24] {
				sum += v
			}
			days = append(days, sum)
		}
		if w, h := lagged(days, 7), lagged(days, 3); w < .6 || h > 0 || week < halfWeek {
			t.Errorf("seed %d: autocorrelation %.2f at a week and %.2f at three days, by hour %.2f and %.2f at half a week", seed, w, h, week, halfWeek)
		}
	}
}

func TestNoiseIsAutoregressive(t *testing.T) {
	tables := newTables()
	for id := range uint64(3) {
		x := make([]float64, 60_000)
		for i := range x {
			x[i] = float64(tables.noise(7, id, int64(i)*step)) / one
		}
		sum, squares := 0., 0.
		for _, v := range x {
			sum, squares = sum+v, squares+v*v
		}
		mean := sum / float64(len(x))
		deviation := math.Sqrt(squares/float64(len(x)) - mean*mean)
		if math.Abs(mean) > .08 || math.Abs(deviation-1) > .03 {
			t.Errorf("noise %d: mean %.3f, deviation %.3f", id, mean, deviation)
		}
		for _, lag := range []int{1, 2, 5, 10} {
			if got, want := lagged(x, lag), math.Pow(memory, float64(lag)); math.Abs(got-want) > .04 {
				t.Errorf("noise %d: correlation %.3f at lag %d, and %.3f was meant", id, got, lag, want)
			}
		}
		// A process of order 1 does not depend on the value before the last one.
		a, b := lagged(x, 1), lagged(x, 2)
		if partial := (b - a*a) / (1 - a*a); math.Abs(partial) > .03 {
			t.Errorf("noise %d: partial correlation %.3f at lag 2", id, partial)
		}
	}
}

// At the same minute of many weeks, demand differs by noise and bursts only.
func TestApplicationsGoTogether(t *testing.T) {
	x := typical(16, 5)
	course := func(i int) []float64 {
		out := make([]float64, 400)
		for w := range out {
			out[w] = float64(x.level(i, int64(w)*minutesPerWeek+15*60))
		}
		return out
	}
	var web, others [][]float64
	var own, strange []float64
	for _, members := range x.groups {
		if x.vms[members[0]].kind.name != "web" || len(members) < 3 {
			continue
		}
		web = append(web, course(members[0]))
		others = append(others, course(members[1]))
	}
	for i := range web {
		own = append(own, correlation(web[i], others[i]))
		strange = append(strange, correlation(web[i], others[(i+1)%len(web)]))
	}
	slices.Sort(own)
	slices.Sort(strange)
	k := behaviours[0]
	want := float64(k.common*k.common) / float64(k.common*k.common+k.noise*k.noise)
	if len(web) < 5 {
		t.Fatalf("only %d applications", len(web))
	}
	if mid := own[len(own)/2]; math.Abs(mid-want) > .08 {
		t.Errorf("correlation in an application %.2f, and %.2f was meant", mid, want)
	}
	if mid := strange[len(strange)/2]; math.Abs(mid) > .08 || own[0] < strange[len(strange)-1]+.2 {
		t.Errorf("strangers correlate by %.2f, at most %.2f; neighbours by %.2f at least", mid, strange[len(strange)-1], own[0])
	}
}

func TestBurstsComeAsOftenAsStated(t *testing.T) {
	x := typical(1, 1)
	for _, often := range []int64{3, 20, 120} {
		const hours = 60_000
		starts, on := 0, 0
		before := int64(0)
		for m := range int64(hours * 60) {
			now := x.pulse(99, often, m)
			if now > one {
				t.Fatalf("a burst of %d", now)
			}
			if now > 0 {
				on++
				if before == 0 {
					starts++
				}
			}
			before = now
		}
		want := float64(often) / 1000 * hours
		if got := float64(starts); math.Abs(got-want) > 4*math.Sqrt(want)+.04*want {
			t.Errorf("%d bursts in %d hours, %.0f were meant", starts, hours, want)
		}
		if mean := float64(on) / float64(starts); mean < 18 || mean > 25 {
			t.Errorf("bursts last %.1f minutes", mean)
		}
	}
}

func TestLoadIsAsAsked(t *testing.T) {
	for _, hosts := range []int{4, 32} {
		for seed := range uint64(4) {
			for _, load := range []int{20, 50, 70} {
				s := Typical(hosts, seed)
				s.Load, s.Mixed = load, seed%2 == 0
				x := newTrace(s)
				var sum, has int64
				n := int64(0)
				for m := int64(7); m < minutesPerWeek; m += 173 {
					n++
					for i := range x.vms {
						sum += x.sample(i, m).CPU
					}
				}
				for h := range x.hosts {
					has += x.hosts[h].Capacity().CPU
				}
				if got := float64(sum) / float64(n*has) * 100; math.Abs(got-float64(load)) > 3 {
					t.Errorf("%d hosts, seed %d: load %.1f %%, and %d %% was meant", hosts, seed, got, load)
				}
				if got := x.load; got < load-1 || got > load+1 {
					t.Errorf("%d hosts, seed %d: load said to be %d %%, and %d %% was meant", hosts, seed, got, load)
				}
			}
		}
	}
}

// If VMs are too few for a load, the trace reports the actual load.
func TestLoadOutOfReach(t *testing.T) {
	s := Typical(64, 1)
	s.VMs, s.Load = 10, 90
	x := newTrace(s)
	var sum, has, n int64
	for m := int64(3); m < minutesPerWeek; m += 61 {
		n++
		for i := range x.vms {
			sum += x.sample(i, m).CPU
		}
	}
	for h := range x.hosts {
		has += x.hosts[h].Capacity().CPU
	}
	if got := float64(sum) / float64(n*has) * 100; x.load >= 20 || math.Abs(got-float64(x.load)) > 1 {
		t.Errorf("load %.1f %%, said to be %d %%", got, x.load)
	}
}

// No demand exceeds the size of its VM.
func TestSamplesAreWithinSizes(t *testing.T) {
	x := typical(16, 2)
	for i := range x.vms {
		v := &x.vms[i].vm
		for m := int64(0); m < minutesPerWeek; m += 311 {
			s := x.sample(i, m)
			if s.CPU <= 0 || s.CPU > int64(v.VCPUs)*x.core || s.Active <= 0 || s.Active > s.Consumed || s.Consumed > v.Memory || s.Dirty < 0 || s.Link < 0 {
				t.Fatalf("%s at %d: %+v", v.Name, m, s)
			}
		}
	}
}

// A trace does not depend on the order of queries, also in parallel.
func TestAnyOrder(t *testing.T) {
	s := Typical(6, 3)
	a, b := newTrace(s), newTrace(s)
	type point struct {
		vm     int
		minute int64
	}
	var points []point
	for i := range a.vms {
		for m := int64(0); m < 3*1440; m += 431 {
			points = append(points, point{i, m})
		}
	}
	want := make(map[point]sample, len(points))
	for _, p := range points {
		want[p] = a.sample(p.vm, p.minute)
	}
	r := rand.New(rand.NewPCG(1, 2))
	r.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
	var wait sync.WaitGroup
	for part := range slices.Chunk(points, len(points)/4+1) {
		wait.Go(func() {
			for _, p := range part {
				if got := b.sample(p.vm, p.minute); got != want[p] {
					t.Errorf("VM %d at %d: %v, and in order %v", p.vm, p.minute, got, want[p])
					return
				}
			}
		})
	}
	wait.Wait()
}
