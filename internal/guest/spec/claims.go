package spec

import (
	"context"

	"plimsoll/internal/parameter"
)

// Claims are a VM's resource settings (reservations, shares, latency sensitivity) on hosts
// that support them.
type Claims struct {
	CPUReservation     int             `name:"cpu_reservation" doc:"CPU reservation in MHz" min:"0" max:"10000000"`
	CPUShares          int             `name:"cpu_shares" doc:"CPU shares; 0 is the default, 1000 per vCPU" min:"0" max:"1000000"`
	MemoryReservation  parameter.Bytes `name:"memory_reservation" doc:"memory reservation"`
	LatencySensitivity string          `name:"latency_sensitivity" doc:"latency sensitivity; high gives each vCPU a core of its own, and needs all memory reserved" choices:"normal,high"`
}

// The levels of latency sensitivity.
const (
	NormalLatency = "normal"
	HighLatency   = "high"
)

// Claimant is a Machine with claims.
type Claimant interface {
	Machine
	// Claims returns the claims of the next boot.
	Claims() Claims
	// SetClaims changes them. The VM reboots when it is next used.
	SetClaims(c Claims)
	// ReadClaims reads them from the platform, for a VM that runs.
	ReadClaims(ctx context.Context) (Claims, error)
}
