package load

import (
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/generate"
	"plimsoll/internal/cluster/scenario"
)

// Generated is the demand of a generated cluster, which changes every minute.
func Generated(of *generate.DemandSeries) DemandSeries { return generated{of} }

type generated struct{ of *generate.DemandSeries }

// Every is a minute.
func (generated) Every() int64 { return 60 }

// At is the demand of a VM.
func (g generated) At(v cluster.VMID, second int64) Sample {
	d := g.of.At(v, floor(second, 60))
	return Sample{CPU: int64(d.CPU.Recent), Active: int64(d.Active.Recent), Consumed: d.Consumed, Link: d.Link}
}

// Replayed is the demand of a scenario, repeated.
func Replayed(of *scenario.Scenario) DemandSeries { return replayed{of} }

type replayed struct{ of *scenario.Scenario }

// Every is the step of scenarios.
func (replayed) Every() int64 { return scenario.Step }

// At is the demand of a VM. The scenario repeats before the start as well.
func (r replayed) At(v cluster.VMID, second int64) Sample {
	length := max(scenario.Step, r.of.Length-r.of.Length%scenario.Step)
	s := r.of.Demand.At(v, second-floor(second, length)*length)
	d := &r.of.Cluster.VMs[v].Demand
	return Sample{CPU: s.CPU, Active: s.Active, Consumed: max(d.Consumed, s.Active), Link: d.Link}
}

// Observe updates the model with the recent demand of VMs whose demand varies, and publishes
// the usage of all.
func (l *Load) Observe() {
	if l.varies {
		now := l.clock.Now().UnixMilli()
		l.model.Observe(func(vm reference, asks *cluster.Demand) bool { return l.observe(vm, now, asks) })
	}
	l.Publish()
}

// The demand that DRS uses: the mean of a number of samples at an interval.
const (
	looks = 5
	apart = 60_000
)

func (l *Load) observe(vm reference, now int64, asks *cluster.Demand) bool {
	l.m.Lock()
	i, known := l.log.vms.number[vm]
	var v life
	if known {
		v = l.log.lives[i]
	}
	l.m.Unlock()
	if v.course == nil {
		return false
	}
	var sum Sample
	for k := range int64(looks) {
		s, _ := l.at(&stay{course: v.course, id: v.id}, now-k*apart)
		sum.CPU, sum.Active = sum.CPU+s.CPU, sum.Active+s.Active
		if k == 0 {
			sum.Consumed, sum.Link = s.Consumed, s.Link
		}
	}
	cpu, active := float64(sum.CPU)/looks, float64(sum.Active)/looks
	asks.CPU.Add(cpu)
	asks.Active.Add(active)
	asks.CPU.Recent, asks.Active.Recent = cpu, active
	asks.Consumed, asks.Link = sum.Consumed, sum.Link
	return true
}
