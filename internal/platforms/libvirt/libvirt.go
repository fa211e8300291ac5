// Package libvirt is a platform of VMs of a libvirt daemon: one that is made for the study,
// of the same shapes as on platform guest, or an existing domain that has plimsoll's agent on
// a virtio channel.
//
// A domain that is made is transient and ends with the connection that made it: however this
// program ends, the daemon destroys the domain. An existing domain is not changed.
package libvirt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"time"

	"plimsoll/internal/guest/folder"
	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

const machineName = "libvirt"

// Kind is the platform as the catalog lists it.
func Kind() platform.Kind {
	defaults := Settings{
		Guest: spec.Guest{
			VCPUs: 1, Topology: string(hardware.Spread), Nodes: 1, Memory: 256 << 20, DiskSize: 4 << 30, Controller: string(hardware.VirtioBlk), Cache: "none", AIO: "threads",
			Accelerator: "auto", Boot: parameter.Duration(time.Minute),
		},
		Controller: string(hardware.VirtioBlk), Folder: "/var/tmp",
	}
	return platform.Kind{
		Candidates: spec.Candidates(),
		Needs:      "libvirt",
		Name:       machineName,
		Doc:        "libvirt domain: a transient one booted without a disk image, or one you provide",
		Defaults:   defaults,
		Fleeting:   func(settings parameter.Settings) bool { return settings["domain"] == "" },
		Sweep:      func(context.Context) ([]string, error) { return folder.SweepAll(folderPrefix) },
		Open: func(ctx context.Context, settings parameter.Settings, _ uint64) (platform.Platform, error) {
			s := defaults
			if err := parameter.Decode(&s, settings); err != nil {
				return nil, err
			}
			s.Guest.Controller = s.Controller
			return open(ctx, s)
		},
	}
}

// testbed is the open platform.
type testbed struct {
	settings Settings
	machine  platform.Machine
	close    func(ctx context.Context) error
}

func open(ctx context.Context, s Settings) (*testbed, error) {
	if s.URI == "" {
		s.URI = os.Getenv("LIBVIRT_DEFAULT_URI")
	}
	if s.URI == "" {
		s.URI = "qemu:///system"
	}
	if s.Domain != "" {
		m := newResident(s)
		if _, err := m.Up(ctx); err != nil {
			return nil, errors.Join(err, m.close(ctx))
		}
		return &testbed{s, m, m.close}, nil
	}
	m, err := newMachine(ctx, s.URI, s.Guest)
	if err != nil {
		return nil, err
	}
	return &testbed{s, m, m.close}, nil
}

// Machine is the VM.
func (t *testbed) Machine() platform.Machine { return t.machine }

// Scratch is a folder for workloads: on the disk that was made for them, or that of the
// settings in an existing domain.
func (t *testbed) Scratch() string {
	if t.settings.Domain == "" {
		return spec.Scratch + "/study"
	}
	return path.Join(t.settings.Folder, fmt.Sprintf("plimsoll-%d", os.Getuid()))
}

// goodbye is how long a VM may take to power off.
const goodbye = 20 * time.Second

// Close ends a VM that was made, and disconnects from an existing one.
func (t *testbed) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	return t.close(ctx)
}
