package trial

import (
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/trial/certify"
	"plimsoll/internal/trial/machines"
)

// MachineLoad is the load of one of several machines.
type MachineLoad struct {
	Machine, Group string
	Intervals      []measure.Interval // of the load so far, to be read only
}

// MachineCounters are what the certificate watches of a machine, over the last reading of its counters: the share that
// each check limits, by the name of the check.
type MachineCounters struct {
	Machine, Group string
	Shares         map[string]float64
	Checkpoints    map[string]float64 // of a guest with a standby, by metric
}

// countEvery is the shortest time between two reports of counters.
const countEvery = time.Second

// load reports the last interval of a load.
func (r *reporter) load(phase Phase, intervals []measure.Interval, on machines.Set) {
	last, operations := &intervals[len(intervals)-1], int64(0)
	for _, s := range last.Samples {
		operations += s.Operations
	}
	rate := float64(operations) / (last.To - last.From).Seconds()
	r.tell(func(e *Event) {
		e.Phase, e.Rate, e.Load, e.Machines, e.Counters = phase, rate, intervals, loadsOf(on), r.counters(on)
	})
}

// loadsOf are the loads of several machines so far; nil for one machine.
func loadsOf(on machines.Set) (all []MachineLoad) {
	if len(on) < 2 {
		return nil
	}
	for _, m := range on {
		if m.Drives() && m.Recorder != nil {
			all = append(all, MachineLoad{m.Name, m.Group.Name, m.Recorder.Intervals()})
		}
	}
	return all
}

// counters are what the certificate watches, once a second; nil in between.
func (r *reporter) counters(on machines.Set) (all []MachineCounters) {
	now := time.Now()
	if now.Sub(r.counted) < countEvery {
		return nil
	}
	r.counted = now
	for _, m := range on {
		if m.Sampler == nil {
			continue
		}
		shares, checkpoints := certify.Shares(m.Sampler.Latest(certify.Counters()...)), m.Sampler.Checkpoints(m.At.Machine)
		if len(shares) > 0 || len(checkpoints) > 0 {
			all = append(all, MachineCounters{m.Name, m.Group.Name, shares, checkpoints})
		}
	}
	return all
}
