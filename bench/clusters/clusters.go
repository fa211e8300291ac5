// Package clusters measures the engine of clusters: its speed at sizes up to ten times those that
// limits are for, its memory, and how near its plans are to the best.
package clusters

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"plimsoll/bench/measured"
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/divvy"
	"plimsoll/internal/cluster/generate"
	"plimsoll/internal/cluster/place"
)

// size is how large a generated cluster is, and how many times the one that limits are
// for.
type size struct {
	name              string
	hosts, vms, pools int
	times             float64
}

// growth begins with the size that limits are for.
var growth = []size{
	{"64 hosts, 8,000 VMs", 64, 8000, 200, 1}, {"16 hosts, 2,000 VMs", 16, 2000, 50, .25},
	{"256 hosts, 32,000 VMs", 256, 32_000, 800, 4}, {"640 hosts, 80,000 VMs", 640, 80_000, 2000, 10},
}

var (
	vCenter = size{"2,000 hosts, 25,000 VMs", 2000, 25_000, 200, 1}
	largest = size{"2,000 hosts, 35,000 VMs", 2000, 35_000, 500, 1}
)

// stretches is how many a quantile is the median of; placed is how many placements are
// measured, changed how many changes, and passes how often what takes long is done; what
// takes slow seconds is done once.
const (
	stretches = 9
	placed    = stretches * 1000
	changed   = stretches * 1000
	passes    = 5
	slow      = 1
)

// make makes a cluster that is uneven and busy, with one VM in forty to be placed.
func (s size) make() (*cluster.Cluster, *cluster.Index, *cluster.Layout) {
	spec := generate.Typical(s.hosts, 1)
	spec.VMs, spec.Pools, spec.Waiting, spec.Load, spec.Skew = s.vms, s.pools, s.vms/40, 65, 25
	c, _ := generate.Cluster(spec)
	x := cluster.NewIndex(c)
	return c, x, cluster.NewLayout(c, x)
}

// timing is a time of something, in seconds, and its limit; 0 for none.
type timing struct {
	what       string
	got, limit float64
}

// mostPatience bounds what a size may take. It is judged by the largest before, as if the
// time grew with the square.
const mostPatience = 2 * time.Minute

// grow measures at all sizes, on one core: the first against limits, the others
// against what it would be if it grew as the size does.
func grow(sizes []size, measure func(size) ([]timing, error)) ([]measured.Result, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var all []measured.Result
	var failed error
	var first []timing
	took, at := time.Duration(0), 1.
	for _, s := range sizes {
		if k := s.times / at; k > 1 && time.Duration(float64(took)*k*k) > mostPatience {
			failed = errors.Join(failed, fmt.Errorf("%s: not measured, as %.2g times less took %.1f s", s.name, k, took.Seconds()))
			continue
		}
		begin := time.Now()
		timings, err := measure(s)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", s.name, err))
			continue
		}
		if s.times >= at {
			took, at = time.Since(begin), s.times
		}
		if first == nil {
			first = timings
		}
		for i, t := range timings {
			r := measured.Result{What: s.name + ": " + t.what, Got: t.got, Against: "limit", Limit: t.limit, Unit: "s"}
			if s.times != 1 {
				r.Against, r.Limit = fmt.Sprintf("%g x %d VMs", s.times, sizes[0].vms), first[i].got*s.times
			}
			all = append(all, readable(r, first[i].limit))
		}
	}
	return all, failed
}

// readable has seconds in a unit that suits the limit, and so all sizes in the same.
func readable(r measured.Result, limit float64) measured.Result {
	scale, unit := 1e3, "ms"
	if limit < .01 {
		scale, unit = 1e6, "us"
	}
	return measured.Result{What: r.What, Got: r.Got * scale, Against: r.Against, Limit: r.Limit * scale, Unit: unit}
}

// quantile is the time that the given part is below: the median of those of nine
// stretches of the measurement, so that another program's turn does not pass for ours.
func quantile(times []float64, part float64) float64 {
	return ofStretches(times, func(sorted []float64) float64 { return sorted[int(part*float64(len(sorted)))] })
}

// middleMean is the median of the stretches' means.
func middleMean(times []float64) float64 {
	return ofStretches(times, func(stretch []float64) float64 {
		sum := 0.
		for _, t := range stretch {
			sum += t
		}
		return sum / float64(len(stretch))
	})
}

func ofStretches(times []float64, value func(sorted []float64) float64) float64 {
	var of []float64
	for stretch := range slices.Chunk(times, len(times)/stretches) {
		of = append(of, value(slices.Sorted(slices.Values(stretch))))
	}
	return measured.Middle(of)
}

// Placing is the time to choose a host for a VM, among VMs that run.
func Placing() ([]measured.Result, error) {
	all, err := grow(growth, func(s size) ([]timing, error) { return s.place(.001) })
	more, other := grow([]size{vCenter}, func(s size) ([]timing, error) { return s.place(.005) })
	return append(all, more...), errors.Join(err, other)
}

func (s size) place(limit float64) ([]timing, error) {
	c, x, l := s.make()
	p := place.New(l, x)
	var times, moves []float64
	nowhere := 0
	runtime.GC()
	for len(times) < placed {
		var took []cluster.VMID
		for v := range c.VMs {
			if !c.VMs[v].Waiting {
				continue
			}
			begin := time.Now()
			choice := p.Place(cluster.VMID(v))
			one := time.Since(begin).Seconds()
			p.Take(choice)
			moves = append(moves, time.Since(begin).Seconds())
			times, took = append(times, one), append(took, choice.VM)
			if choice.Host == cluster.Nowhere {
				nowhere++
			}
		}
		for _, v := range took {
			l.Move(v, cluster.Nowhere)
		}
	}
	if nowhere > 0 {
		return nil, fmt.Errorf("%d of %d placements found no host", nowhere, len(times))
	}
	mean := middleMean(moves)
	return []timing{{"placement, p50", quantile(times, .5), limit}, {"placement, p99", quantile(times, .99), limit}, {fmt.Sprintf("placement and move, mean (%.0f/s)", 1/mean), mean, 1. / 5000}}, nil
}

// medianWork is the middle of n times that f takes, in seconds of this process's CPU: what
// others do on the machine counts little.
func medianWork(n int, f func()) (float64, error) {
	times := make([]float64, n)
	for i := range times {
		begin, err := measured.Work()
		if err != nil {
			return 0, err
		}
		f()
		end, err := measured.Work()
		if err != nil {
			return 0, err
		}
		times[i] = end - begin
	}
	return measured.Middle(times), nil
}

// Balancing is the CPU time of a round, by both models and with a host to spare.
func Balancing() ([]measured.Result, error) {
	all, err := grow(growth, func(s size) ([]timing, error) { return s.balance(.1, .25) })
	more, other := grow([]size{largest}, func(s size) ([]timing, error) { return s.balance(10, 10) })
	return append(all, more...), errors.Join(err, other)
}

// balance has limits for both models, and for a host to spare.
func (s size) balance(limit, spare float64) (timings []timing, err error) {
	c, x, l := s.make()
	for _, m := range []cluster.Model{cluster.ByDeviation, cluster.ByScore} {
		for n, limit := range []float64{limit, spare} {
			c.Settings.Model, c.Settings.SpareHosts = m, n
			moves := 0
			round := func() { moves = len(balance.Round(l, x, advice.Options{}).Moves) }
			runtime.GC()
			got, err := medianWork(1, round)
			note := " (one pass)"
			if got < slow {
				note = ""
				got, err = medianWork(passes, round)
			}
			if err != nil {
				return nil, err
			}
			timings = append(timings, timing{fmt.Sprintf("round by %s, %d to spare, %d moves%s", m, n, moves, note), got, limit})
		}
	}
	return timings, nil
}

// Dividing is the time to work out what all are entitled to, when they ask for half more
// than there is; and after one VM asks for something else, what it is entitled to,
// and what all are.
func Dividing() ([]measured.Result, error) {
	return grow(growth, func(s size) ([]timing, error) {
		c, x, _ := s.make()
		var asked cluster.Resources
		for v := range c.VMs {
			if !c.VMs[v].Waiting {
				asked = asked.Plus(x.Demand(cluster.VMID(v)))
			}
		}
		has := cluster.Resources{CPU: asked.CPU / 3 * 2, Memory: asked.Memory / 3 * 2}
		var e *divvy.Entitlements
		runtime.GC()
		full, err := measured.Median(passes, func() error {
			e = divvy.Divide(c, x, has, nil)
			return nil
		})
		own, all := changes(c, x, e)
		return []timing{
			{"all entitlements", full, .02},
			{"one changes, its own, p50", quantile(own, .5), 1e-4}, {"one changes, its own, p99", quantile(own, .99), 1e-4},
			{"one changes, those of all, p50", quantile(all, .5), 1e-4}, {"one changes, those of all, p99", quantile(all, .99), 1e-4},
		}, err
	})
}

func changes(c *cluster.Cluster, x *cluster.Index, e *divvy.Entitlements) (own, all []float64) {
	for i := range changed {
		v := cluster.VMID(i * 7919 % len(c.VMs))
		if c.VMs[v].Waiting {
			continue
		}
		d := x.Demand(v)
		d.CPU, d.Memory = d.CPU*int64(i%5)/4, d.Memory*int64(i%3)/2
		begin := time.Now()
		e.Update(v, d)
		e.VM(v)
		own = append(own, time.Since(begin).Seconds())
		e.Settle()
		all = append(all, time.Since(begin).Seconds())
	}
	return own, all
}

// Memory is what a cluster with its index and one layout holds, for a VM.
func Memory() ([]measured.Result, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	held := func() float64 {
		var m runtime.MemStats
		for range 2 {
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	var all []measured.Result
	for _, s := range append(slices.Clone(growth), vCenter) {
		before := held()
		c, x, l := s.make()
		each := (held() - before) / float64(s.vms) / 1024
		all = append(all, measured.Result{What: s.name + ": memory of one", Got: each, Against: "limit", Limit: 2, Unit: "KiB"})
		runtime.KeepAlive(c)
		runtime.KeepAlive(x)
		runtime.KeepAlive(l)
	}
	return all, nil
}
