package search

import (
	"context"
	"slices"
	"time"

	"plimsoll/internal/collect"
)

// watchCPU measures which share of the host's CPUs is in use, from a while after now
// until the returned function is called. That answers false where nothing tells.
func (s *Search) watchCPU(ctx context.Context, after time.Duration) (used func() (float64, bool)) {
	nothing := func() (float64, bool) { return 0, false }
	i := slices.IndexFunc(s.Sources, func(of collect.Source) bool { return of.Name == "cpu" })
	if i < 0 || s.Host.Machine == nil {
		return nothing
	}
	read, err := s.Sources[i].Open(ctx, s.Host)
	if err != nil {
		return nothing
	}
	var first map[string]float64
	var from time.Time
	begun := make(chan struct{})
	timer := time.AfterFunc(after, func() {
		defer close(begun)
		if first, err = read(ctx); err == nil {
			from = time.Now()
		}
	})
	return func() (float64, bool) {
		if timer.Stop() { // the load ended before its part that counts began
			return 0, false
		}
		<-begun
		if err != nil {
			return 0, false
		}
		last, err := read(ctx)
		span := time.Since(from).Seconds()
		if err != nil || last["cpu.count"] <= 0 {
			return 0, false
		}
		idle := last["cpu.idle"] + last["cpu.iowait"] - first["cpu.idle"] - first["cpu.iowait"]
		return min(1, max(0, 1-idle/span/last["cpu.count"])), true
	}
}
