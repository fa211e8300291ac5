// Package collect is the contract for sources of counters on a machine, with one file for
// each.
package collect

import (
	"context"

	"plimsoll/internal/hoststat"
	"plimsoll/internal/measure"
	"plimsoll/internal/platform"
)

// Source is a source of counters, a value in the catalog. It has either Open or Host.
type Source struct {
	Name, Doc string
	Counters  []Counter
	// For reports whether the source applies to a machine; nil applies to every one. Otherwise
	// it is not listed as missing.
	For func(platform.Machine) bool
	// Open prepares reading on the machine. It returns an error if the machine lacks the
	// source, which the record then lists as missing.
	Open func(ctx context.Context, p Env) (Read, error)
	// Host prepares a source that takes its counters from an interval of the host. Its errors
	// are as those of Open.
	Host func(ctx context.Context, p Env) (Flatten, error)
	// Needs are the sources of package hoststat that Host requires.
	Needs []string
}

// Counter is one counter of a source.
type Counter struct {
	measure.Metric
	// Cumulative marks a monotonic counter, whose rate per second over the window is recorded;
	// of other counters the mean is.
	Cumulative bool
}

// Read reads all counters of a source, by name. A counter that the machine lacks is left out.
type Read func(ctx context.Context) (map[string]float64, error)

// Flatten enters counters of an interval by name, cumulative ones per second. A counter that
// the host lacks is left out.
type Flatten func(i *hoststat.Interval, values map[string]float64)

// Env is where a source reads.
type Env struct {
	Machine platform.Machine
	Dir     string // scratch folder of the workload on the machine
	Served  bool   // the study has a service, which may run on the machine
	// Membership is /proc/self/cgroup of a worker; empty if it could not be read.
	Membership string
}

// flat is a source that needs no preparation.
func flat(f Flatten) func(context.Context, Env) (Flatten, error) {
	return func(context.Context, Env) (Flatten, error) { return f, nil }
}
