package search

import (
	"context"
	"slices"
	"time"

	"plimsoll/internal/collect"
	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/interval"
)

// watchCPU measures which share of the host's CPUs is in use, from a while after now
// until the returned function is called. That answers false where nothing tells.
func (s *Search) watchCPU(ctx context.Context, after time.Duration) (used func() (float64, bool)) {
	nothing := func() (float64, bool) { return 0, false }
	if s.Host.Machine == nil || !slices.ContainsFunc(s.Sources, func(of collect.Source) bool { return of.Name == "cpu" }) {
		return nothing
	}
	r := hoststat.NewReader(collect.Files(ctx, s.Host.Machine))
	r.Only = []string{"cpus"}
	var series interval.Series
	begun, from := make(chan struct{}), time.Now()
	timer := time.AfterFunc(after, func() {
		defer close(begun)
		series.Add(r.Read(time.Since(from).Seconds()))
	})
	return func() (float64, bool) {
		if timer.Stop() { // the load ended before its part that counts began
			return 0, false
		}
		<-begun
		series.Add(r.Read(time.Since(from).Seconds()))
		mean := series.Mean()
		if mean == nil || len(mean.CPUs) == 0 {
			return 0, false
		}
		idle, online := 0., 0.
		for _, c := range mean.CPUs {
			if c.Total() > 0 {
				idle, online = idle+c.Idle+c.IOWait, online+1
			}
		}
		return min(1, max(0, 1-idle/max(1, online))), online > 0
	}
}
