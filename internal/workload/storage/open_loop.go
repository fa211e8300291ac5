package storage

import (
	"fmt"
	"math"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/workload/storage/pace"
)

// In an open loop each worker has one operation outstanding at most, and Poisson arrivals of its own, which make one Poisson process in all. fio has a mode for
// open loops, io_submit_mode=offload, but it hangs in many versions, and counts only when it ends; its other workers drain what is outstanding before they
// sleep, and a replay of a log shifts what is late.

const (
	// busyInTime is the share of time for which a worker of a search is busy if its operations all take as long as the limit. Each worker more is one that
	// connects to a cluster, which takes up to 0.2 s.
	busyInTime = .2
	// ofWorker is the rate of a worker without such a limit. fio prints its counters when all workers have started an operation: fewer operations of each would
	// make that seldom.
	ofWorker    = 10
	ofWorkerMin = 2
)

// paced is the open loop to share out among workers.
func (p *pattern) paced() pace.Load {
	l := pace.Load{Rate: float64(p.Rate), Read: float64(p.Read), Disks: p.Disks, Least: p.Threads, Most: p.Threads * p.Depth, Each: ofWorker}
	if p.within > 0 {
		l.Least, l.Each = 1, max(ofWorkerMin, busyInTime/p.within.Seconds())
	}
	return l
}

// workers is how many there are in all.
func (p *pattern) workers() (n int) {
	if p.Rate == 0 {
		return p.Threads * p.Disks
	}
	for _, groups := range p.paced().Share() {
		n += pace.Workers(groups)
	}
	return n
}

// refuseRate finds a rate that the workers cannot share out within 1 %.
func refuseRate(p *pattern) error {
	if p.Rate == 0 {
		return nil
	}
	if err := p.paced().Refuse(); err != nil {
		return fmt.Errorf("rate %s: %w", p.Rate, err)
	}
	return nil
}

// mostHeldUp is the share of the operations of an open loop that may have to wait for their worker. Their waits are derived from the service times, which is
// exact enough up to there.
const mostHeldUp = .25

// offer is what an open loop did, without the first interval, in which each worker starts an operation at once.
type offer struct {
	waits      *pace.Waits
	begun      bool
	operations int64
	service    time.Duration // of all operations
	in         time.Duration
}

// add counts an interval, and adds the waits to its response times.
func (o *offer) add(in *measure.Interval) {
	if o.begun {
		o.in += in.To - in.From
		for _, s := range in.Samples {
			o.operations += s.Operations
			o.service += s.Total
		}
	}
	o.begun = true
	o.waits.Add(in.Samples)
}

// kept holds an open loop against what it was to offer, and whether its operations started in time. Operations arrive at random instants, so that the share of
// them that find their worker busy is the share of the time for which it is (Wolff, Poisson Arrivals See Time Averages, 1982).
func (p *pattern) kept(o *offer) []measure.Check {
	offered, late := measure.Check{Name: "offered load", State: measure.Unknown, Detail: "the load was too short"}, measure.Check{Name: "generator", State: measure.Unknown, Detail: "the load was too short"}
	if o.in == 0 {
		return []measure.Check{offered, late}
	}
	workers := pace.Sum(p.paced().Share(), func(g pace.Group) float64 {
		if g.Fixed {
			return 0
		}
		return 1
	})
	waited := min(1, o.service.Seconds()/o.in.Seconds()/max(1, workers))
	done, want := float64(o.operations), float64(p.Rate)*o.in.Seconds()
	// The number of arrivals has a standard deviation of its square root.
	slack := .02*want + 4*math.Sqrt(want)
	offered.State, offered.Detail = measure.Pass, fmt.Sprintf("%.5g/s of %.5g/s were offered", done/o.in.Seconds(), float64(p.Rate))
	if done > want+slack {
		offered.State = measure.Fail
	}
	late.State, late.Detail = measure.Pass, fmt.Sprintf("%s; %.3g %% of the operations waited for their worker, allowed %.3g %%", offered.Detail, 100*waited, 100*mostHeldUp)
	if waited > mostHeldUp || done < want-slack {
		late.State = measure.Fail
		late.Detail += ": raise storage.threads or storage.depth, or offer less"
	}
	return []measure.Check{offered, late}
}
