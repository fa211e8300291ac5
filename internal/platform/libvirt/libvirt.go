// Package libvirt is a platform that is a virtual machine of a libvirt daemon: one that is
// made for the study, of the same shapes as platform guest and booted as those are, or one
// that is there already and has plimsoll's agent on a virtio channel.
//
// A machine that is made is transient and ends with the connection that made it: whatever
// ends this program, the daemon destroys it. A machine that was there is used as it is.
package libvirt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"time"

	"plimsoll/internal/guest/folder"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

const machineName = "libvirt"

// scratch is where the disk that workloads write to is mounted in a guest that was made.
const scratch = "/scratch"

// Kind is the platform as the catalog lists it.
func Kind() platform.Kind {
	defaults := Settings{
		VCPUs: 1, Topology: string(qemu.Spread), Nodes: 1, Memory: 256 << 20, Disk: 4 << 30, Controller: string(qemu.VirtioBlk), Cache: "none", AIO: "threads",
		Accelerator: "auto", Boot: parameter.Duration(time.Minute), Folder: "/var/tmp",
	}
	return platform.Kind{
		Needs:    "libvirt",
		Name:     machineName,
		Doc:      "libvirt domain: a transient one booted without a disk image, or one you provide",
		Defaults: defaults,
		Fleeting: func(settings parameter.Settings) bool { return settings["domain"] == "" },
		Sweep:    func(context.Context) ([]string, error) { return folder.SweepAll(folderPrefix) },
		Open: func(ctx context.Context, settings parameter.Settings, _ uint64) (platform.Platform, error) {
			s := defaults
			if err := parameter.Decode(&s, settings); err != nil {
				return nil, err
			}
			return open(ctx, s)
		},
	}
}

// testbed is the platform, open.
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
		if _, err := m.up(ctx); err != nil {
			return nil, errors.Join(err, m.close(ctx))
		}
		return &testbed{s, m, m.close}, nil
	}
	m, err := newMachine(ctx, s)
	if err != nil {
		return nil, err
	}
	return &testbed{s, m, m.close}, nil
}

// Machine is the virtual machine.
func (t *testbed) Machine() platform.Machine { return t.machine }

// Scratch is a folder for workloads: on the disk that was made for them, or where the
// settings have it in a domain that was there.
func (t *testbed) Scratch() string {
	if t.settings.Domain == "" {
		return scratch + "/study"
	}
	return path.Join(t.settings.Folder, fmt.Sprintf("plimsoll-%d", os.Getuid()))
}

// goodbye is how long a guest may take to power off.
const goodbye = 20 * time.Second

// Close ends the machine that was made, and lets go of one that was there.
func (t *testbed) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	return t.close(ctx)
}
