package guest

import (
	"fmt"
	"os"
	"runtime"

	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/guest/view"
)

// possible finds settings that do not go together, or that this host does not have, before
// a guest boots. Chosen is what executes its instructions, as far as that is known.
func (s Settings) possible(chosen qemu.Accelerator) error {
	shape, err := s.shape()
	if err != nil {
		return err
	}
	shape.Disks = append(shape.Disks, s.dataDisk(os.TempDir()))
	t, err := view.Read(os.ReadFile)
	if err != nil {
		return fmt.Errorf("read the topology of this host: %w", err)
	}
	w := qemu.Wiring{Accelerator: chosen, Version: newest, Host: qemu.HostShape("this host", t), HostCPUs: runtime.NumCPU()}
	if s.VirtualTime > 0 || s.Accelerator != "auto" {
		w.Accelerator = qemu.Accelerator(s.Accelerator)
	}
	for _, c := range t.CPUs {
		w.Online = append(w.Online, c.ID)
	}
	if err := s.fair(); err != nil {
		return err
	}
	return shape.Check(w)
}

// newest stands for a QEMU that is not asked here: what an older one lacks is said when a
// guest is started.
var newest = qemu.Version{Major: 99}

// fair refuses what would starve this host: threads with a fixed priority go before all
// others for as long as they like.
func (s Settings) fair() error {
	if s.Scheduler == "" {
		return nil
	}
	c, err := qemu.ParseScheduling(s.Scheduler)
	if err == nil && c.Policy == "fifo" && s.VCPUs >= runtime.NumCPU() {
		err = fmt.Errorf("scheduler %s: %d vCPUs would keep all %d CPUs of this host from everything else: ask for fewer vCPUs", c, s.VCPUs, runtime.NumCPU())
	}
	return err
}
