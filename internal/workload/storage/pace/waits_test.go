package pace

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"plimsoll/internal/measure"
)

// server is a simulated disk: workers in an open loop, each with one operation outstanding.
type server struct {
	disks   [][]Group
	service func(random *rand.Rand, at float64, direction int) float64 // seconds
}

// operation is one of a simulated load, in seconds.
type operation struct {
	start, end, response float64
	direction            int
}

func (s server) run(seconds float64, seed uint64) (all []operation) {
	random := rand.New(rand.NewPCG(seed, 9))
	for _, groups := range s.disks {
		for _, g := range groups {
			for range g.Workers {
				free := 0.
				for due := random.ExpFloat64() / g.offered(); due < seconds; due += random.ExpFloat64() / g.offered() {
					direction := write
					if random.Float64() < g.reads()/g.offered() {
						direction = read
					}
					start := max(due, free)
					free = start + s.service(random, start, direction)
					all = append(all, operation{start, free, free - due, direction})
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b operation) int { return int(math.Copysign(1, a.end-b.end)) })
	return all
}

// seen is what fio tells of them in intervals of 250 ms.
func seen(all []operation, each func([]measure.Sample)) {
	const interval = .25
	for at, k := interval, 0; k < len(all); at += interval {
		samples := []measure.Sample{{Class: "read", Latency: measure.NewHistogram()}, {Class: "write", Latency: measure.NewHistogram()}}
		for ; k < len(all) && all[k].end < at; k++ {
			o, s := all[k], &samples[all[k].direction]
			s.Operations++
			s.Latency.Record(time.Duration((o.end-o.start)*1e9), 1)
			s.Total += time.Duration((o.end - o.start) * 1e9)
		}
		each(samples)
	}
}

// The response times follow from the service times, which are all that fio measures.
func TestWaitsAreThoseOfTheQueues(t *testing.T) {
	exponential := func(mean float64) func(*rand.Rand, float64, int) float64 {
		return func(r *rand.Rand, _ float64, _ int) float64 { return mean * r.ExpFloat64() }
	}
	for _, c := range []struct {
		name      string
		of        Load
		service   func(*rand.Rand, float64, int) float64
		tolerance float64
	}{
		{"4 % busy", Load{Rate: 500, Read: .7, Disks: 4, Most: 32, Each: 10}, exponential(.004), .03},
		{"20 % busy", Load{Rate: 500, Read: .7, Disks: 4, Most: 32, Each: 50}, exponential(.004), .04},
		{"40 % busy", Load{Rate: 1000, Read: 1, Disks: 1, Most: 20, Each: 50}, exponential(.008), .06},
		{"constant", Load{Rate: 500, Read: .7, Disks: 2, Most: 10, Each: 25}, func(*rand.Rand, float64, int) float64 { return .008 }, .04},
		{"slow writes", Load{Rate: 400, Read: .7, Disks: 4, Most: 32, Each: 20}, func(r *rand.Rand, _ float64, direction int) float64 {
			return []float64{.0005, .012}[direction] * r.ExpFloat64()
		}, .04},
		{"few operations", Load{Rate: 10, Read: .7, Disks: 4, Most: 32, Each: 10}, exponential(.02), .05},
	} {
		t.Run(c.name, func(t *testing.T) {
			disks := c.of.Share()
			truth, is, raw, off := simulated(t, disks, c.service, max(240, 40_000/c.of.Rate))
			for _, q := range []float64{.5, .9, .95, .99} {
				want, _ := truth.Quantile(q)
				got, _ := is.Quantile(q)
				service, _ := raw.Quantile(q)
				t.Logf("p%g: %v, in truth %v; service time %v", 100*q, got, want, service)
				if off := math.Abs(got.Seconds()/want.Seconds() - 1); off > c.tolerance {
					t.Errorf("p%g is %v, in truth %v", 100*q, got, want)
				}
			}
			if off > c.tolerance {
				t.Errorf("the mean is off by %.1f %%", 100*off)
			}
		})
	}
}

// In a stall each worker starts one operation; those that are due later would not be seen.
func TestStallsAreSeen(t *testing.T) {
	disks := Load{Rate: 500, Read: .7, Disks: 4, Most: 32, Each: 10}.Share()
	truth, is, raw, _ := simulated(t, disks, func(r *rand.Rand, at float64, _ int) float64 {
		took := .002 * r.ExpFloat64()
		if into := math.Mod(at, 4); into > 3.6 {
			took += 4 - into
		}
		return took
	}, 240)
	for _, than := range []time.Duration{20 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond} {
		want, got, service := slower(truth, than), slower(is, than), slower(raw, than)
		t.Logf("slower than %v: %.4f, in truth %.4f; by service time %.4f", than, got, want, service)
		if math.Abs(got/want-1) > .15 || service > .8*want {
			t.Errorf("%.4f are slower than %v, in truth %.4f; by service time %.4f", got, than, want, service)
		}
	}
}

func slower(h *measure.Histogram, than time.Duration) float64 {
	n := int64(0)
	for _, bar := range h.Bars() {
		if bar.From > than {
			n += bar.Count
		}
	}
	return float64(n) / float64(h.Count())
}

// simulated are response times in truth, as derived, and as service times; off is the error of the mean, as a share.
func simulated(t *testing.T, disks [][]Group, service func(*rand.Rand, float64, int) float64, seconds float64) (truth, is, raw *measure.Histogram, off float64) {
	all := server{disks, service}.run(seconds, 5)
	waits, total, sum := NewWaits(disks, 7), 0., 0.
	truth, is, raw = measure.NewHistogram(), measure.NewHistogram(), measure.NewHistogram()
	seen(all, func(samples []measure.Sample) {
		before := samples[read].Operations + samples[write].Operations
		waits.Add(samples)
		after := int64(0)
		for i := range samples {
			is.Merge(samples[i].Latency)
			raw.Merge(samples[i].Service)
			total += samples[i].Total.Seconds()
			after += samples[i].Latency.Count()
		}
		if before != after {
			t.Fatalf("%d operations became %d", before, after)
		}
	})
	for _, o := range all {
		truth.Record(time.Duration(o.response*1e9), 1)
		sum += o.response
	}
	return truth, is, raw, math.Abs(total/sum - 1)
}

// offered is the rate that fio makes of that of a worker.
func (g Group) offered() float64 { return g.reads() + g.writes() }
