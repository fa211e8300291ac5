package scenario

import (
	"math"
	"math/rand/v2"
	"slices"

	"plimsoll/internal/cluster"
)

// Pattern is the CPU and memory demand of VMs for some time. Later patterns override earlier
// ones.
type Pattern struct {
	VMs      []cluster.VMID // sorted
	From, To int64          // seconds
	// Every and For limit it to a part of each period, which begins later by Shift for each
	// VM. 0 is all the time.
	Every, For, Shift int64

	CPU    Line
	Active Line
	Daily  int   // daily amplitude, per mille
	Peak   int64 // second of the day of its maximum
	Noise  int   // standard deviation of noise per VM, per mille
	Common int   // standard deviation of noise common to all VMs
}

// Line is linear from one amount to another over the duration of a pattern.
type Line struct {
	Given    bool
	From, To int64   // MHz or bytes; per mille of the VM's size if Share
	Share    [2]bool // of From and To
}

// Patterned is a demand made of patterns. Without a pattern the cluster's demand applies.
type Patterned struct {
	c        *cluster.Cluster
	clock    Clock
	core     int64
	patterns []Pattern
	of       [][]int32 // patterns, by VM
	own      [][]int16 // noise, in thousandths of its deviation, by pattern, then VM and step
	common   [][]int16
	steps    int
}

// Clock is the time of a scenario, and the seed of its noise.
type Clock struct {
	Start  int64 // second of the day at the start
	Length int64 // seconds
	Seed   uint64
}

// NewPatterned is the demand of patterns for the duration of a scenario.
func NewPatterned(c *cluster.Cluster, k Clock, patterns []Pattern) *Patterned {
	p := &Patterned{c: c, clock: k, core: cluster.CoreSpeed(c), patterns: patterns, of: make([][]int32, len(c.VMs)), steps: int(k.Length/Step) + 1}
	p.own, p.common = make([][]int16, len(patterns)), make([][]int16, len(patterns))
	for i := range patterns {
		for _, v := range patterns[i].VMs {
			p.of[v] = append(p.of[v], int32(i))
		}
		random := rand.New(rand.NewPCG(k.Seed, uint64(i)))
		if patterns[i].Common > 0 {
			p.common[i] = chance(random, p.steps)
		}
		if patterns[i].Noise > 0 {
			for range patterns[i].VMs {
				p.own[i] = append(p.own[i], chance(random, p.steps)...)
			}
		}
	}
	return p
}

// Reseeded is the scenario with other noise, if it has any.
func (s *Scenario) Reseeded(seed uint64) *Scenario {
	p, patterned := s.Demand.(*Patterned)
	if !patterned {
		return s
	}
	out, k := *s, p.clock
	k.Seed = seed
	out.Demand = NewPatterned(p.c, k, p.patterns)
	return &out
}

// chance is a first-order autoregressive process of mean 0 and deviation 1, in thousandths.
func chance(random *rand.Rand, steps int) []int16 {
	const rho = .9
	out := make([]int16, steps)
	x := random.NormFloat64()
	for i := range out {
		out[i] = int16(math.Round(1000 * max(-4, min(4, x))))
		x = rho*x + math.Sqrt(1-rho*rho)*random.NormFloat64()
	}
	return out
}

// At is the demand of a VM.
func (p *Patterned) At(v cluster.VMID, second int64) Sample {
	vm := &p.c.VMs[v]
	size := int64(vm.VCPUs) * p.core
	s := Sample{CPU: vm.CPUDemand(p.core), Active: int64(vm.Demand.Active.Recent), Dirty: vm.Demand.Dirty}
	for _, i := range p.of[v] {
		t := &p.patterns[i]
		k := t.place(v)
		if !t.lasts(k, second) {
			continue
		}
		if t.CPU.Given {
			s.CPU = t.CPU.at(t, second, size)
		}
		if t.Active.Given {
			s.Active = t.Active.at(t, second, vm.Memory)
		}
		s.CPU = max(0, s.CPU+s.CPU*p.swing(int(i), k, second)/1_000_000)
	}
	s.CPU, s.Active = min(s.CPU, size), min(s.Active, vm.Memory)
	return s
}

// swing is the relative deviation of a demand from its mean, in millionths: by time of day and
// noise.
func (p *Patterned) swing(i, k int, second int64) int64 {
	t := &p.patterns[i]
	out := int64(0)
	if t.Daily > 0 {
		const day = 86_400
		angle := 2 * math.Pi * float64((p.clock.Start+second-t.Peak)%day) / day
		out += int64(math.Round(float64(t.Daily) * 1000 * math.Cos(angle)))
	}
	step := min(int(second/Step), p.steps-1)
	if t.Common > 0 {
		out += int64(t.Common) * int64(p.common[i][step])
	}
	if t.Noise > 0 {
		out += int64(t.Noise) * int64(p.own[i][k*p.steps+step])
	}
	return out
}

func (t *Pattern) place(v cluster.VMID) int {
	k, _ := slices.BinarySearch(t.VMs, v)
	return k
}

// lasts reports whether a pattern applies to its VM with an index at a second.
func (t *Pattern) lasts(k int, second int64) bool {
	if second < t.From || second >= t.To {
		return false
	}
	if t.Every == 0 {
		return true
	}
	at := (second - t.From - t.Shift*int64(k)) % t.Every
	return (at+t.Every)%t.Every < t.For
}

func (l *Line) at(t *Pattern, second, whole int64) int64 {
	from, to := l.From, l.To
	if l.Share[0] {
		from = whole * from / 1000
	}
	if l.Share[1] {
		to = whole * to / 1000
	}
	if from == to || t.To <= t.From {
		return from
	}
	return from + int64(float64(to-from)*float64(second-t.From)/float64(t.To-t.From))
}
