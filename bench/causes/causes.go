// Package causes makes known causes of slowness on this host on purpose, and looks whether
// plimsoll check names each of them first, with the right change.
package causes

import (
	"slices"
	"time"

	"plimsoll/bench/causes/scene"
)

// cause is a trouble made on purpose for a workload that suffers from it.
type cause struct {
	name   string
	about  string
	rules  []string // any of which may be the first finding; none: nothing may be found
	change []string // the change holds one of these words
	names  []string // what the first finding holds one of, where it has to name somebody
	only   bool     // no other rule than these may have a finding
	metric metric
	bites  float64 // by how much it is worse at least, as a factor
	make   func(s *scene.Scene) (*scene.Meter, error)
}

// metric is a figure of a workload that a cause makes worse.
type metric struct {
	name string
	of   func(scene.Sample) float64
	less bool // is better
}

func rate() metric {
	return metric{"rate", func(s scene.Sample) float64 { return s.Rate }, false}
}

func latency() metric {
	return metric{"latency", func(s scene.Sample) float64 { return s.Latency }, true}
}

func slowest() metric {
	return metric{"p99", func(s scene.Sample) float64 { return s.P99 }, true}
}

func failures() metric { // with the operations that succeed
	return metric{"failures", func(s scene.Sample) float64 { return (s.Errors + 1) / (s.Errors + s.Rate + 1) }, true}
}

// worse is by what factor a value with the cause is worse than one without.
func (m metric) worse(without, with scene.Sample) float64 {
	a, b := m.of(without), m.of(with)
	if m.less {
		a, b = b, a
	}
	const least = 1e-9 // a workload that stopped
	return a / max(b, least)
}

// all are the causes, those of the held-out list last.
func all() []cause {
	return slices.Concat(healthy(), ofProcessors(), ofProcesses(), ofMemory(), ofStorage(), ofNetworks(), heldOut())
}

func known() []cause {
	return slices.Concat(healthy(), ofProcessors(), ofProcesses(), ofMemory(), ofStorage(), ofNetworks())
}

const (
	warm = 2 * time.Second // before anything is measured
	long = 4 * time.Second // that a workload is measured at most without its cause
	rare = 6 * time.Second // after which every trouble has come back; measured so long where plimsoll check is not asked
	each = 2 * time.Second // after which a measurement may end
	// clear is by how much more than it has to a cause bites where a shorter measurement suffices.
	clear = 1.5
)
