// Package subject is what the workload balance asks of a cluster. The implementation is handed in.
package subject

import (
	"context"
	"time"

	"plimsoll/internal/load"
)

// Usage is what VMs asked for and got since it was asked last.
type Usage struct {
	Seconds             float64 // by the clock of the platform
	Demanded, Delivered float64 // CPU cycles
	Waited              float64 // seconds that vCPUs were ready and waited for a CPU
	Moved               int     // VMs that are on another host than before
}

// Round is a round of balancing.
type Round struct {
	Planned, Made int
	Stopped       string // the surprise that ended it
}

// Subject is a cluster whose VMs run.
type Subject interface {
	// Now is the clock of the platform.
	Now(ctx context.Context) (time.Time, error)
	// Next reads what has happened since the last call, or since the subject was opened.
	Next(ctx context.Context) (Usage, error)
	// Balance makes a round of plimsoll's balancing, with a journal in a new file.
	Balance(ctx context.Context, journal string) (Round, error)
	Close() error
}

// Restricted is a subject that may refuse to be balanced.
type Restricted interface {
	// MayBalance is why Balance would move nothing; nil where it may.
	MayBalance(ctx context.Context) error
}

// Opener connects to a cluster.
type Opener func(ctx context.Context, at load.Endpoint) (Subject, error)
