// Package collect is the contract for sources of counters on a machine, and
// holds one file for each of them.
package collect

import (
	"context"

	"plimsoll/internal/measure"
	"plimsoll/internal/platform"
)

// Source is a source of counters. It is a value in the catalog.
type Source struct {
	Name, Doc string
	Counters  []Counter
	// For reports whether the source has a meaning on a machine; nil is on every one. Where
	// it has none, it is not missed.
	For func(platform.Machine) bool
	// Open finds the source on the machine. Its error says what the machine
	// lacks; the record then lists the source as missing.
	Open func(ctx context.Context, p Place) (Read, error)
}

// Counter is one thing that a source counts.
type Counter struct {
	measure.Metric
	// Cumulative marks a value that only grows, whose increase per second over the
	// window is recorded; of any other value the mean over the window is.
	Cumulative bool
}

// Read reads all counters of a source now, by name. One that is absent on this
// machine is left out.
type Read func(ctx context.Context) (map[string]float64, error)

// Place is where a source reads.
type Place struct {
	Machine platform.Machine
	Dir     string // scratch folder of the workload on the machine
}
