package libvirt

import (
	"context"
	"errors"
	"fmt"
	"os"

	"plimsoll/internal/guest/capacity"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/guest/supply"
	"plimsoll/internal/libvirt"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/group"
)

// testbed is the open platform of domains that are made: one, or groups of them. They share the files that they boot from.
type testbed struct {
	vms      *group.Groups[*machine]
	settings Settings
	files    *files
	capacity *capacity.Capacity
}

func newTestbed(ctx context.Context, s Settings) (*testbed, error) {
	if err := possible(&s.Guest); err != nil {
		return nil, err
	}
	found, err := supply.Find(s.Guest)
	if err != nil {
		return nil, err
	}
	c, err := libvirt.Dial(ctx, s.URI) // so that a daemon that is not there is known at once
	if err != nil {
		return nil, err
	}
	f, err := newFiles(found)
	if err := errors.Join(err, c.Close()); err != nil {
		return nil, err
	}
	return newGroups(s, f)
}

func newGroups(s Settings, f *files) (t *testbed, err error) {
	t = &testbed{settings: s, files: f, capacity: capacity.New(f.home.Path, capacity.ThisHost())}
	if t.vms, err = group.New(machineName, t.taking(s.Guest), t.afford); err != nil {
		return nil, errors.Join(err, f.home.Remove())
	}
	return t, nil
}

// possible finds settings that exclude each other, or that libvirt cannot provide.
func possible(g *spec.Guest) error {
	if err := limits(*g); err != nil {
		return err
	}
	_, err := g.Shape(machineName)
	return err
}

// taking makes machines with such settings, each with a folder of its own. They boot when they are needed.
func (t *testbed) taking(g spec.Guest) func(group.Identity) (*machine, error) {
	return func(s group.Identity) (*machine, error) {
		home, err := t.files.home.Inner(fmt.Sprint(s.Number))
		if err != nil {
			return nil, err
		}
		if err := os.Chmod(home.Path, 0o711); err != nil { // the daemon runs QEMU as another user
			return nil, errors.Join(fmt.Errorf("open the folder of a guest for QEMU: %w", err), home.Remove())
		}
		m := &machine{Next: spec.NewNext(s.Name, g), bed: t, number: s.Number, home: home}
		m.Up = m.agent
		return m, nil
	}
}

// Machine is the VM of a study that has only one.
func (t *testbed) Machine() platform.Machine { return t.vms.First() }

// Members boots or ends VMs of groups until each has as many as it wants.
func (t *testbed) Members(ctx context.Context, groups ...platform.Group) ([][]platform.Machine, error) {
	return t.vms.Members(ctx, groups, func(g platform.Group) (func(group.Identity) (*machine, error), error) {
		settings, err := group.Settings(g, t.settings, t.grouped)
		return t.taking(settings.Guest), err
	})
}

// grouped judges the settings of a group, whose machines are made by the daemon of the study.
func (t *testbed) grouped(s *Settings) error {
	s.Guest.Controller = s.Controller
	if s.Domain != "" || s.URI != t.settings.URI {
		return errors.New("domain and uri apply to the whole study: set them at the platform, or omit domain to have several machines created")
	}
	return possible(&s.Guest)
}

// afford checks before the first of several VMs boots that all of them fit.
func (t *testbed) afford(all []*machine) error {
	claims := make([]capacity.Claim, len(all))
	for i, m := range all {
		claims[i] = m.claim(m.Spec())
	}
	return t.capacity.Claim(claims...)
}

// Scratch is a folder on the disk that was made for workloads.
func (t *testbed) Scratch() string { return spec.Scratch + "/study" }

// Close ends all VMs and removes their files.
func (t *testbed) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	return errors.Join(t.vms.End(ctx), t.files.home.Remove())
}
