// Package subject is what the workload compliance asks of a platform with storage policies. The
// implementation is handed in where the program has it, so that agents stay lean.
package subject

import (
	"context"

	"plimsoll/internal/load"
)

// Kind is a kind of check.
type Kind string

// The kinds of checks.
const (
	Check  Kind = "check"  // of each home and disk
	RollUp Kind = "rollup" // of VMs with their disks
	Fetch  Kind = "fetch"  // of nothing: reads the results of the last checks
)

// VM is a VM with storage policies.
type VM struct {
	ID      string
	Policy  string // identifier of that of its home; empty for none
	Objects int    // its home and disks that have a policy
}

// Subject checks VMs against their storage policies. It may be used by many goroutines.
type Subject interface {
	// VMs lists those that have a policy.
	VMs(ctx context.Context) ([]VM, error)
	// Check checks VMs in one call, and returns of how many homes and disks, or VMs for a roll-up, there
	// is a result.
	Check(ctx context.Context, kind Kind, ids []string) (results int, err error)
	// Apply gives the home of a VM its policy again, and returns when the platform has done so.
	Apply(ctx context.Context, vm VM) error
	Close() error
}

// Privileged is a subject whose account may lack privileges.
type Privileged interface {
	// Missing names the privileges that the account lacks to check VMs, and to give them their policies
	// again where they are changed.
	Missing(ctx context.Context, vms []VM, changed bool) ([]string, error)
}

// Opener connects to a platform.
type Opener func(ctx context.Context, at load.Endpoint) (Subject, error)
