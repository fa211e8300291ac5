package hardware

import (
	"path/filepath"

	"plimsoll/internal/cluster/topology"
)

// Accelerator executes a guest's instructions.
type Accelerator string

const (
	KVM Accelerator = "kvm" // the processor
	TCG Accelerator = "tcg" // an interpreter: it shows shapes, not speeds
)

// Wiring is the environment that a shape is started in.
type Wiring struct {
	Accelerator Accelerator
	Version     Version
	Host        topology.Shape // the host for the layout by Auto
	HostCPUs    int            // that QEMU may use
	Online      []int          // CPUs of the host; none is not known
	// TSCkHz is the frequency of the host's time stamp counter, which under TCG is the
	// guest's as well; 0 is not known, and the guest has to measure it.
	TSCkHz            int
	Kernel, Initramfs string // paths
	Dir               string // the guest's folder
	Incoming          bool   // do not boot: wait for a guest that migrates here
}

// monitor is the file descriptor of QEMU's control socket.
const monitor = 3

// Port is the name of the virtio port of the control channel, as the guest sees it.
const Port = "plimsoll"

// Channel is the socket of the control channel.
func (w Wiring) Channel() string { return filepath.Join(w.Dir, "channel.sock") }

func (w Wiring) file(kind, name string) string {
	return filepath.Join(w.Dir, kind+"-"+name+".img")
}

// singleThread reports whether one thread runs all vCPUs: with more vCPUs than CPUs, vCPUs
// of TCG that wait for each other stall a boot now and then.
func (w Wiring) singleThread(s Shape) bool {
	return w.Accelerator == TCG && (s.VirtualTime != nil || s.CPU.Count > max(1, w.HostCPUs))
}
