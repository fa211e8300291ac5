package hardware

import (
	"path/filepath"

	"plimsoll/internal/cluster/topology"
)

// Accelerator executes a guest's instructions.
type Accelerator string

const (
	KVM Accelerator = "kvm" // the processor
	TCG Accelerator = "tcg" // an emulator: its topology is valid, its speed is not
)

// Wiring is the environment of a shape on a host.
type Wiring struct {
	Accelerator Accelerator
	Version     Version
	Host        topology.Shape // the host, for the topology Auto
	HostCPUs    int            // CPUs that QEMU may use
	Online      []int          // CPUs of the host; empty if unknown
	// TSCkHz is the frequency of the host's time stamp counter, and of the guest's under TCG;
	// if 0, it is unknown and the guest calibrates it.
	TSCkHz            int
	Kernel, Initramfs string // paths
	Dir               string // the guest's folder
	Incoming          bool   // do not boot: wait for an incoming migration
}

// Descriptors that QEMU is given.
const (
	monitor = 3 // its control socket
	memory  = 4 // the guest's memory, where it is shared
)

// Port is the name of the virtio port of the control channel, as the guest sees it.
const Port = "plimsoll"

// Channel is the socket of the control channel.
func (w Wiring) Channel() string { return filepath.Join(w.Dir, "channel.sock") }

func (w Wiring) file(kind, name string) string {
	return filepath.Join(w.Dir, kind+"-"+name+".img")
}

// singleThread reports whether one thread runs all vCPUs: with more vCPUs than CPUs, TCG's
// vCPUs that wait for each other sometimes stall a boot.
func (w Wiring) singleThread(s Shape) bool {
	return w.Accelerator == TCG && (s.VirtualTime != nil || s.CPU.Count > max(1, w.HostCPUs))
}
