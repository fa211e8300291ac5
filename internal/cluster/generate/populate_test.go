package generate

import (
	"math"
	"slices"
	"testing"
)

func TestSizesHaveAHeavyTail(t *testing.T) {
	s := Typical(64, 1)
	s.VMs = 8000
	x := NewTrace(s)
	var sizes []int
	sum := 0
	for i := range s.VMs {
		sizes = append(sizes, x.VM(i).VCPUs)
		sum += sizes[i]
	}
	slices.Sort(sizes)
	top := 0
	for _, n := range sizes[len(sizes)*9/10:] {
		top += n
	}
	if part := float64(top) / float64(sum); part < .3 {
		t.Errorf("a tenth of the VMs has %.2f of the vCPUs", part)
	}
	if median, largest := sizes[len(sizes)/2], sizes[len(sizes)-1]; median > 2 || largest < 16*median {
		t.Errorf("median %d vCPUs, largest %d", median, largest)
	}
	// The share of VMs that are larger falls as a power of the size, not faster.
	above := func(n int) float64 {
		at, _ := slices.BinarySearch(sizes, n)
		return float64(len(sizes)-at) / float64(len(sizes))
	}
	if slope := math.Log(above(4)/above(32)) / math.Log(8); slope < 1 || slope > 2.5 {
		t.Errorf("the tail falls with the power %.2f", slope)
	}
}

func TestLifetimesAreLogNormal(t *testing.T) {
	s := Typical(250, 2)
	s.Churn, s.Days = 20, 7
	x := NewTrace(s)
	var old, young []float64
	for i := range x.VMs() {
		from, to := x.Life(i)
		if i < s.VMs {
			old = append(old, math.Log(float64(to-s.Minute)))
			continue
		}
		young = append(young, math.Log(float64(to-from)))
		if from < 1 || from >= int64(s.Days)*minutesPerDay {
			t.Fatalf("VM %d arrives at %d", i, from)
		}
	}
	if len(young) != s.VMs*20/100*7 {
		t.Errorf("%d VMs arrive", len(young))
	}
	for _, c := range []struct {
		name          string
		logs          []float64
		median, sigma float64
	}{{"old", old, medianOld, sigmaOld}, {"new", young, medianNew, sigmaNew}} {
		slices.Sort(c.logs)
		at := func(p float64) float64 { return c.logs[int(p*float64(len(c.logs)))] }
		if got := math.Exp(at(.5)) / c.median; got < .9 || got > 1.1 {
			t.Errorf("%s: the median is %.2f of what was meant", c.name, got)
		}
		// Quartiles of a normal deviate are .6745 deviations from its mean, and a sixteenth
		// lies beyond 1.534.
		for p, z := range map[float64]float64{.25: -.6745, .75: .6745, .0625: -1.534, .9375: 1.534} {
			if got := (at(p) - math.Log(c.median)) / c.sigma; math.Abs(got-z) > .1 {
				t.Errorf("%s: the quantile %.4f is %.2f deviations from the median, and %.2f was meant", c.name, p, got, z)
			}
		}
	}
}

func TestEventsAreInOrder(t *testing.T) {
	s := Typical(20, 4)
	s.Churn, s.Days = 10, 5
	x := NewTrace(s)
	here := make([]bool, x.VMs())
	for i := range s.VMs {
		here[i] = true
	}
	last, day, night := int64(0), 0, 0
	for e := range x.Events() {
		if e.Minute < last || here[e.VM] == e.Arrives {
			t.Fatalf("%+v after minute %d", e, last)
		}
		last, here[e.VM] = e.Minute, e.Arrives
		if hour := e.Minute / 60 % 24; e.Arrives && hour >= 8 && hour < 20 {
			day++
		} else if e.Arrives {
			night++
		}
		gone, there := e.Minute, e.Minute-1
		if e.Arrives {
			gone, there = there, gone
		}
		if x.At(e.VM, gone) != (Sample{}) || x.At(e.VM, there) == (Sample{}) {
			t.Fatalf("%+v, and demand is before or after", e)
		}
	}
	if slices.Contains(here, true) {
		t.Error("with churn, all depart at some time")
	}
	if day < night*3/2 {
		t.Errorf("%d VMs arrive by day and %d by night", day, night)
	}
}

// The VMs of a cluster are the first ones of its trace.
func TestClusterIsTheTraceAtAMinute(t *testing.T) {
	s := Typical(8, 9)
	c, x := Cluster(s), NewTrace(s)
	for i := range c.VMs {
		if got, want := c.VMs[i].Name, x.VM(i).Name; got != want {
			t.Fatalf("VM %d is %s and %s", i, got, want)
		}
		if got, want := c.VMs[i].Demand.Dirty, x.At(i, s.Minute).Dirty; got != want {
			t.Errorf("VM %d writes %d and %d bytes/s", i, got, want)
		}
		if n := c.VMs[i].Demand.CPU.Count; n != seenMinutes/seenEvery+1 {
			t.Errorf("VM %d was seen %d times", i, n)
		}
	}
	if len(c.Rules) == 0 || c.Hosts[0].Memory <= 0 {
		t.Error("no rules, or no memory")
	}
}
