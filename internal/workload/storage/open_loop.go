package storage

import (
	"fmt"
	"math"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/workload/storage/fio"
	"plimsoll/internal/workload/storage/pace"
)

// In an open loop each worker has one operation outstanding at most, and Poisson arrivals of its own, which make one Poisson process in all. fio has a mode for
// open loops, io_submit_mode=offload, but it hangs in many versions, and counts only when it ends; its other workers drain what is outstanding before they
// sleep, and a replay of a log shifts what is late.

// busyInTime is the share of time for which a worker is busy whose operations all take as long as a search permits: a search has no more workers than that
// takes. Connecting each to a cluster takes up to 0.2 s.
const busyInTime = .2

// paced is the open loop to share out among workers.
func (p *pattern) paced() pace.Load {
	l := pace.Load{Rate: float64(p.Rate), Read: float64(p.Read), Disks: p.Disks, Most: p.Threads * p.Depth}
	if p.within > 0 {
		l.Each = max(1, busyInTime/p.within.Seconds())
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

// kept holds an open loop against what it was to offer, and whether its operations started in time. Operations arrive at random instants, so that the share of
// them that find their worker busy is the share of the time for which it is (Wolff, Poisson Arrivals See Time Averages, 1982).
func (p *pattern) kept(j *fio.Job, elapsed time.Duration) []measure.Check {
	disks := p.paced().Share()
	workers := pace.Sum(disks, func(g pace.Group) float64 {
		if g.Fixed {
			return 0
		}
		return 1
	})
	waited := min(1, (j.Read.Latency.Total()+j.Write.Latency.Total())/float64(elapsed)/max(1, workers))
	seconds, at := elapsed.Seconds(), pace.Sum(disks, pace.Group.Immediate)
	done, want := float64(j.Read.Latency.Count+j.Write.Latency.Count)-at, float64(p.Rate)*seconds
	// The number of arrivals has a standard deviation of its square root.
	slack := .02*want + 4*math.Sqrt(want+at)
	detail := fmt.Sprintf("%.4g/s of %.4g/s were offered", max(0, done)/seconds, float64(p.Rate))
	offered := measure.Check{Name: "offered load", State: measure.Pass, Detail: detail}
	if done > want+slack {
		offered.State = measure.Fail
	}
	late := measure.Check{Name: "generator", State: measure.Pass, Detail: fmt.Sprintf("%s; %.3g %% of the operations waited for their worker, allowed %.3g %%", detail, 100*waited, 100*mostHeldUp)}
	if waited > mostHeldUp || done < want-slack {
		late.State = measure.Fail
		late.Detail += ": raise storage.depth or storage.threads, or offer less"
	}
	return []measure.Check{offered, late}
}
