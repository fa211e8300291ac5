package spec

import (
	"context"

	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/inspect"
	"plimsoll/internal/platform"
)

// Machine is a VM that a platform starts for a study, which may vary its settings.
type Machine interface {
	platform.Machine
	// Spec returns the settings of the next boot.
	Spec() Guest
	// Reshape changes the settings. The VM reboots when it is next used.
	Reshape(change func(*Guest) error) error
	// Limits returns the reason why this platform cannot provide such settings, without a
	// boot.
	Limits(g Guest) error
	// Running returns the running VM, booting it first if necessary.
	Running(ctx context.Context) (Running, error)
}

// Running is a VM that runs.
type Running struct {
	Agent platform.Machine
	Spec  Guest            // that it was booted with
	QEMU  *inspect.Process // nil if a daemon owns QEMU
	Disk  DiskServer       // nil if QEMU opens the file itself
	// Target is the VM that exports the disk over a fabric; nil if the VM has it on a controller.
	Target *Running
	// Protection is the level in effect: that of the settings while a standby is there, and none otherwise.
	Protection string
}

// DiskServer serves the disk of a VM.
type DiskServer interface {
	Socket() string
	// Route returns the filters that the server itself reports.
	Route() (Route, error)
}

// QEMUOwner is a Machine whose QEMU is a child of this program and can be inspected.
type QEMUOwner interface {
	Machine
	// Accelerator is empty until it is known.
	Accelerator() hardware.Accelerator
}

// Migrator is a Machine that can migrate in the middle of a load.
type Migrator interface {
	Machine
	Migration() string
	SetMigration(mode string)
	// MayMigrate returns the reason why the VM cannot migrate in such a mode.
	MayMigrate(mode string) error
}

// Fixed is a VM whose settings cannot be varied.
type Fixed interface {
	WhyFixed() error
}
