package plan_test

import (
	"math/rand/v2"
	"testing"

	"plimsoll/internal/effort"
	"plimsoll/internal/plan/growth"
	"plimsoll/internal/plan/peak"
)

// machine is an M/M/1 queue with processor sharing under a number of sessions that pause between operations.
type machine struct{ service, think float64 } // means, s

// mean is the exact mean response, by mean value analysis (Reiser and Lavenberg, Journal of the ACM 27, 1980).
func (m machine) mean(sessions int) (response float64) {
	inService := 0.
	for n := 1; n <= sessions; n++ {
		response = m.service * (1 + inService)
		inService = float64(n) / (response + m.think) * response
	}
	return response
}

// carries is the largest number of sessions with a mean response within a limit.
func (m machine) carries(limit float64) (n int) {
	for m.mean(n+1) <= limit {
		n++
	}
	return n
}

// run simulates sessions until so many operations have ended, and returns their mean response without the first fifth, and their
// rate.
func (m machine) run(sessions, operations int, r *rand.Rand) (response, rate float64) {
	var began []float64 // of those in service
	now, from, sum, counted := 0., 0., 0., 0
	for ended := 0; ended < operations; {
		thinking := float64(sessions-len(began)) / m.think
		all := thinking
		if len(began) > 0 {
			all += 1 / m.service
		}
		now += r.ExpFloat64() / all
		if r.Float64()*all < thinking {
			began = append(began, now)
			continue
		}
		i := r.IntN(len(began)) // all have an equal share, and exponential work
		if ended++; ended > operations/5 {
			sum += now - began[i]
			counted++
		} else {
			from = now
		}
		began[i] = began[len(began)-1]
		began = began[:len(began)-1]
	}
	return sum / float64(counted), float64(counted) / (now - from)
}

// What a growth and a climb say that a known queue carries is at most a session from what it carries.
func TestSessionsOnAKnownQueue(t *testing.T) {
	t.Parallel()
	studies := effort.Rate(2, 40)
	for _, c := range []struct {
		machine
		limit float64
	}{
		{machine{.5, 5}, 1.5}, {machine{1, 12}, 2.5}, {machine{.1, 1.2}, .4}, {machine{1, 60}, 2},
	} {
		want := c.carries(c.limit)
		for seed := range studies {
			r := rand.New(rand.NewPCG(uint64(seed), 7))
			for name, g := range map[string]*growth.Growth{
				"growth": growth.New(growth.Settings{Most: 200, Seed: uint64(seed)}), "climb": growth.NewClimb(growth.Settings{Most: 200}, 0),
			} {
				for {
					s, more := g.Next()
					if !more {
						break
					}
					response, rate := c.run(s.Units, 40_000, r)
					g.Done(growth.Result{Metric: rate, Pass: response <= c.limit, Reason: "response"})
				}
				a := g.Answer()
				g.Close()
				if a.Word != peak.Identified || a.Units < want-1 || a.Units > want+1 {
					t.Errorf("%+v, %s, seed %d: %d (%s, %s), want %d", c, name, seed, a.Units, a.Word, a.Why, want)
				}
			}
		}
	}
}
