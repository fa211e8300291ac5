// Package guest is a platform that is a virtual machine: QEMU with a kernel of the
// distribution and plimsoll's agent as its only program, no disk image and no root. It
// boots in seconds, and its shape can be varied as a factor. A study may have several at
// once, and a network between them that is this program's own.
//
// Under KVM it is as fast as a virtual machine is; where there is no KVM, QEMU interprets
// every instruction: shapes, and no speeds.
package guest

import (
	"context"
	"time"

	"plimsoll/internal/guest/folder"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// scratch is where the disk that workloads write to is mounted in the guest.
const scratch = "/scratch"

// Kind is the platform as the catalog lists it.
func Kind() platform.Kind {
	defaults := Settings{
		VCPUs: 1, Topology: string(qemu.Spread), Nodes: 1, Memory: 256 << 20, HugePages: "none", HostNodes: free, Disk: 4 << 30, Controller: string(qemu.VirtioBlk), NIC: string(qemu.VirtioNet), Cache: "none", AIO: "threads",
		IOFilter: noServer, Storage: onDisk, Pin: free,
		Accelerator: "auto", Boot: parameter.Duration(time.Minute),
	}
	return platform.Kind{
		Needs:    "QEMU",
		Name:     machineName,
		Doc:      "QEMU virtual machine, booted from a kernel and plimsoll's initramfs, without a disk image",
		Defaults: defaults,
		Fleeting: func(parameter.Settings) bool { return true },
		Sweep:    func(context.Context) ([]string, error) { return folder.SweepAll(folderPrefix) },
		Open: func(_ context.Context, settings parameter.Settings, _ uint64) (platform.Platform, error) {
			s := defaults
			if err := parameter.Decode(&s, settings); err != nil {
				return nil, err
			}
			return open(s)
		},
	}
}

// goodbye is how long the guests may take to power off.
const goodbye = 20 * time.Second

func open(s Settings) (*testbed, error) {
	if _, err := s.shape(); err != nil {
		return nil, err
	}
	d, err := findDepot(s)
	if err != nil {
		return nil, err
	}
	if s.Network {
		if err := d.drives(qemu.Model(s.NIC)); err != nil {
			return nil, err
		}
	}
	return newTestbed(d, s)
}

// Machine is the guest where there is one alone.
func (t *testbed) Machine() platform.Machine { return t.machine }

// Scratch is a folder on the disk that is there for workloads.
func (t *testbed) Scratch() string { return scratch + "/study" }
