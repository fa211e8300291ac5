package dense

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func TestPublishedRule(t *testing.T) {
	for _, k := range []struct {
		name   string
		on     bool
		seen   Counters
		want   bool
		reason string
	}{
		{"all three at their thresholds", false, Counters{4, 4, 8, 0.5}, true, "on: 4 VMs (at least 4), 8 vCPUs (at least 8), 50 % of CPU time (at least 50 %) on 4 CPUs"},
		{"far above", false, Counters{2, 40, 80, 0.97}, true, "on: 40 VMs (at least 2), 80 vCPUs (at least 4), 97 % of CPU time (at least 50 %) on 2 CPUs"},
		{"it stays on", true, Counters{4, 4, 8, 0.5}, true, "on: "},
		{"too few VMs", true, Counters{4, 3, 8, 0.9}, false, "off: 3 VMs (below 4) on 4 CPUs"},
		{"too few vCPUs", true, Counters{4, 4, 7, 0.9}, false, "off: 7 vCPUs (below 8) on 4 CPUs"},
		{"utilization just below", true, Counters{4, 4, 8, 0.4999}, false, "off: 49.9 % of CPU time (below 50 %) on 4 CPUs"},
		{"all three below", false, Counters{4, 1, 1, 0.01}, false, "off: 1 VM (below 4), 1 vCPU (below 8), 1 % of CPU time (below 50 %) on 4 CPUs"},
		{"one CPU", false, Counters{1, 1, 2, 1}, true, "on: 1 VM (at least 1), 2 vCPUs (at least 2), 100 % of CPU time (at least 50 %) on 1 CPU"},
		{"no CPU", true, Counters{0, 4, 8, 0.9}, false, "off: the host shows no CPU"},
		{"no CPU time", true, Counters{4, 4, 8, math.NaN()}, false, "off: the host shows no CPU time"},
		{"infinite CPU time", true, Counters{4, 4, 8, math.Inf(1)}, false, "off: the host shows no CPU time"},
		{"negative CPU time", true, Counters{4, 4, 8, -0.1}, false, "off: the host shows no CPU time"},
		{"negative VMs", true, Counters{4, -1, 8, 0.9}, false, "off: the host shows less than no VM"},
	} {
		d := Decide(k.on, k.seen)
		if d.On != k.want || d.Changed != (k.on != k.want) || !strings.HasPrefix(d.Reason, k.reason) {
			t.Errorf("%s: %+v, want on %v and %q", k.name, d, k.want, k.reason)
		}
	}
}

func TestPublishedConstants(t *testing.T) {
	if VMsPerCPU != 1 || VCPUsPerCPU != 2 || LeastUtilization != 0.5 || Every != time.Minute {
		t.Errorf("the rule is not the published one: %d, %d, %g, %v", VMsPerCPU, VCPUsPerCPU, LeastUtilization, Every)
	}
}

// The published rule has no band between on and off: the state before decides nothing.
func TestNoHysteresis(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		c := drawn(r)
		was, wasNot := Decide(true, c), Decide(false, c)
		if was.On != wasNot.On || was.Reason != wasNot.Reason {
			t.Fatalf("%+v: %+v after on, %+v after off", c, was, wasNot)
		}
		if was.Changed == wasNot.Changed {
			t.Fatalf("%+v: changed %v after on and after off", c, was.Changed)
		}
		if again := Decide(was.On, c); again.On != was.On || again.Changed {
			t.Fatalf("%+v: the same interval once more gives %+v", c, again)
		}
	}
}

// More of anything never turns dense mode off, and more CPUs never turn it on.
func TestMonotone(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		c := drawn(r)
		on := Decide(false, c).On
		more := c
		more.VMs += r.IntN(3)
		more.VCPUs += r.IntN(3)
		more.Utilization = min(1, more.Utilization+0.1*r.Float64())
		if on && !Decide(false, more).On {
			t.Fatalf("%+v is dense and %+v is not", c, more)
		}
		wider := c
		wider.CPUs += 1 + r.IntN(4)
		if !on && Decide(false, wider).On {
			t.Fatalf("%+v is not dense and %+v is", c, wider)
		}
	}
}

// A host k times as large with k times as many VMs is as dense.
func TestScale(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		c := drawn(r)
		k := 2 + r.IntN(7)
		large := Counters{k * c.CPUs, k * c.VMs, k * c.VCPUs, c.Utilization}
		if Decide(false, c).On != Decide(false, large).On {
			t.Fatalf("%+v and %+v are not alike", c, large)
		}
	}
}

func TestConditionsAreTheEvidence(t *testing.T) {
	d := Decide(false, Counters{2, 3, 3, 0.75})
	want := []Condition{{"vms", 3, 2, true}, {"vcpus", 3, 4, false}, {"utilization", 0.75, 0.5, true}}
	if len(d.Conditions) != len(want) {
		t.Fatalf("%d conditions, want %d", len(d.Conditions), len(want))
	}
	for i, c := range d.Conditions {
		if c != want[i] {
			t.Errorf("condition %d: %+v, want %+v", i, c, want[i])
		}
	}
}

func drawn(r *rand.Rand) Counters {
	cpus := 1 + r.IntN(8)
	return Counters{cpus, r.IntN(2*cpus + 1), r.IntN(4*cpus + 1), r.Float64()}
}
