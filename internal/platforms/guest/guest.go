// Package guest is a platform of VMs under QEMU: a kernel of the distribution with
// plimsoll's agent as its only program, without disk images and without root. A VM boots in
// seconds, and factors vary its settings. A study may have several VMs, with a network
// between them.
//
// Under KVM a VM has the speed of any other. Where there is no KVM, QEMU interprets every
// instruction: such VMs show shapes, not speeds.
package guest

import (
	"context"
	"errors"
	"time"

	"plimsoll/internal/guest/coresched"
	"plimsoll/internal/guest/folder"
	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/guest/supply"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// studyFolder is where workloads write.
const studyFolder = spec.Scratch + "/study"

// Kind is the platform as the catalog lists it. The host is the platform of this
// host, where the Ceph cluster of a study runs that has the VMs' disks; the other that of
// another host, for standbys.
func Kind(host, other platform.Kind) platform.Kind {
	defaults := spec.Guest{
		VCPUs: 1, Topology: string(hardware.Spread), Nodes: 1, Memory: 256 << 20, HugePages: spec.Unset, HostNodes: spec.Unset, DiskSize: 4 << 30,
		Backing: spec.AutoBacking, Controller: string(hardware.VirtioBlk), NIC: string(hardware.VirtioNet), Cache: "none", AIO: "threads",
		IOFilter: spec.NoServer, Protection: spec.Unset, Fabric: spec.Unset, Storage: spec.OnDisk, Pin: spec.Unset, Sharing: string(coresched.Default),
		Accelerator: "auto", Boot: parameter.Duration(time.Minute),
	}
	return platform.Kind{
		Candidates: spec.Candidates(),
		Needs:      "QEMU",
		Hosts:      imageProtocol,
		Name:       machineName,
		Operations: []string{platform.Migrate, platform.Deploy, platform.Snapshot},
		Doc:        "QEMU virtual machine, booted from a kernel and plimsoll's initramfs, without a disk image",
		Defaults:   defaults,
		Fleeting:   func(parameter.Settings) bool { return true },
		Possible: func(settings parameter.Settings) error {
			g := defaults
			if err := parameter.Decode(&g, settings); err != nil {
				return err
			}
			return g.Possible("")
		},
		Sweep: func(context.Context) ([]string, error) { return folder.SweepAll(folderPrefix) },
		Open: func(ctx context.Context, settings parameter.Settings, _ uint64) (platform.Platform, error) {
			g := defaults
			if err := parameter.Decode(&g, settings); err != nil {
				return nil, err
			}
			return open(ctx, g, host, other)
		},
	}
}

// goodbye is how long the VMs may take to power off.
const goodbye = 20 * time.Second

func open(ctx context.Context, g spec.Guest, host, other platform.Kind) (*testbed, error) {
	if _, err := g.Shape(machineName); err != nil {
		return nil, err
	}
	s, err := supply.Find(g)
	if err != nil {
		return nil, err
	}
	if g.Network {
		if err := s.HasDriver(hardware.Model(g.NIC)); err != nil {
			return nil, err
		}
	}
	if err := s.HasFabric(g.Fabric); err != nil {
		return nil, err
	}
	t, err := newTestbed(s, g, host, other)
	if err != nil {
		return nil, err
	}
	if _, err := t.others.host(ctx, g); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// Scratch is a folder on the disk for workloads.
func (t *testbed) Scratch() string { return studyFolder }
