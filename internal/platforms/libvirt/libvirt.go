// Package libvirt is a platform of VMs of a libvirt daemon: those that are made for the study,
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
		Operations: []string{platform.Deploy, platform.Snapshot},
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

func open(ctx context.Context, s Settings) (platform.Platform, error) {
	if s.URI == "" {
		s.URI = os.Getenv("LIBVIRT_DEFAULT_URI")
	}
	if s.URI == "" {
		s.URI = "qemu:///system"
	}
	if s.Domain == "" {
		return newTestbed(ctx, s)
	}
	m := newResident(s)
	if _, err := m.Up(ctx); err != nil {
		return nil, errors.Join(err, m.close(ctx))
	}
	return &provided{s, m}, nil
}

// provided is the open platform of an existing domain.
type provided struct {
	settings Settings
	domain   *resident
}

// Machine is the domain.
func (p *provided) Machine() platform.Machine { return p.domain }

// Members implements platform.Grouped, to say how to have several machines.
func (p *provided) Members(context.Context, ...platform.Group) ([][]platform.Machine, error) {
	return nil, &platform.Refused{Err: fmt.Errorf("domain %s is one machine: omit the setting domain to have machines created for the groups", p.settings.Domain)}
}

// Scratch is a folder for workloads, in that of the settings.
func (p *provided) Scratch() string {
	return path.Join(p.settings.Folder, fmt.Sprintf("plimsoll-%d", os.Getuid()))
}

// goodbye is how long VMs may take to power off.
const goodbye = 20 * time.Second

// Close disconnects from the domain.
func (p *provided) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	return p.domain.close(ctx)
}
