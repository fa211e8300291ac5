package rule

import (
	"math/rand/v2"
	"testing"
	"time"
)

const (
	operations = 40   // of a loop: many, so that chance moves a response little
	service    = .025 // s, mean, of an operation alone
	think      = .475 // s, mean, so that a loop takes 20 s
)

// steady is the response of a loop on a processor-sharing queue, by mean value analysis (Reiser and Lavenberg, Journal of the ACM
// 27, 1980).
func steady(sessions int) float64 {
	response, inService := 0., 0.
	for n := 1; n <= sessions; n++ {
		response = service * (1 + inService)
		inService = float64(n) / (response + think) * response
	}
	return operations * response
}

// ramp simulates sessions that join such a queue, one after each gap.
func ramp(gap float64, sessions int, r *rand.Rand) (samples []Sample) {
	type person struct {
		began, sum float64
		done       int
	}
	people := make([]person, sessions)
	var busy, idle []int
	now, joined := 0., 0
	for joined < sessions || now < gap*float64(sessions+1) {
		all := float64(len(idle)) / think
		if len(busy) > 0 {
			all += 1 / service
		}
		next := gap * float64(joined)
		if joined == sessions {
			next = gap * float64(sessions+1)
		}
		step := next - now
		if all > 0 {
			step = min(step, r.ExpFloat64()/all)
		}
		if now += step; now >= next {
			now = next
			if joined == sessions {
				break
			}
			idle = append(idle, joined)
			joined++
			continue
		}
		if r.Float64()*all < float64(len(idle))/think {
			i := r.IntN(len(idle))
			people[idle[i]].began = now
			busy = append(busy, idle[i])
			idle = append(idle[:i], idle[i+1:]...)
			continue
		}
		i := r.IntN(len(busy))
		p := &people[busy[i]]
		p.sum += now - p.began
		if p.done++; p.done == operations {
			samples = append(samples, Sample{joined, p.sum})
			p.sum, p.done = 0, 0
		}
		idle = append(idle, busy[i])
		busy = append(busy[:i], busy[i+1:]...)
	}
	return samples
}

// On a known queue the 4.1 rule overstates by about the estimate of its lag, and by little where sessions join slowly.
func TestLagOnAKnownQueue(t *testing.T) {
	t.Parallel()
	base := make([]float64, 15)
	for i := range base {
		base[i] = operations * service
	}
	carries := 0
	for steady(carries+1) <= 2 {
		carries++
	}
	rule := named(t, "v41")
	for _, gap := range []float64{10, 20, 60} {
		const ramps = 40
		sum := 0.
		for seed := range ramps {
			a := rule.Judge(base, ramp(gap, 60, rand.New(rand.NewPCG(uint64(seed), 9))))
			if !a.Reached {
				t.Fatalf("gap %g s: %+v", gap, a)
			}
			sum += float64(a.Sessions)
		}
		loop := operations*think + steady(carries)
		lag := Lag(carries, time.Duration(loop*1e9), time.Duration(gap*1e9))
		if over := sum/ramps - float64(carries); over < lag-2.5 || over > lag+2.5 {
			t.Errorf("gap %g s: the rule says %.2f of %d, the lag is estimated as %.2f", gap, sum/ramps, carries, lag)
		}
	}
}
