package spec

import (
	"fmt"
	"os"
	"runtime"

	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/inspect"
	"plimsoll/internal/guest/view"
)

// Possible rejects settings that exclude each other, or that this host does not support,
// before a boot. Chosen is the accelerator, empty if unknown.
func (g Guest) Possible(chosen hardware.Accelerator) error {
	shape, err := g.Shape("guest")
	if err != nil {
		return err
	}
	if err := g.sharingPossible(); err != nil {
		return err
	}
	shape.Disks = append(shape.Disks, g.Disk(os.TempDir()))
	t, err := view.Read(os.ReadFile)
	if err != nil {
		return fmt.Errorf("read the topology of this host: %w", err)
	}
	w := hardware.Wiring{Accelerator: chosen, Version: newest, Host: hardware.HostShape("this host", t), HostCPUs: runtime.NumCPU()}
	if g.VirtualTime > 0 || g.Accelerator != "auto" {
		w.Accelerator = hardware.Accelerator(g.Accelerator)
	}
	for _, c := range t.CPUs {
		w.Online = append(w.Online, c.ID)
	}
	return shape.Check(w)
}

// newest stands for an unknown QEMU version: missing features of an older one are reported
// when a guest is started.
var newest = hardware.Version{Major: 99}

// fair rejects settings that would starve this host: real-time threads preempt all others
// without limit.
func (g Guest) fair() error {
	if g.Scheduler == "" {
		return nil
	}
	c, err := inspect.ParseScheduling(g.Scheduler)
	if err == nil && c.Policy == "fifo" && g.VCPUs >= runtime.NumCPU() {
		err = fmt.Errorf("scheduler %s: %d vCPUs would occupy all %d CPUs of this host: use fewer vCPUs", c, g.VCPUs, runtime.NumCPU())
	}
	return err
}
