// Package vsphere is a platform of VMs on a cluster of a vCenter. An appliance is made of a kernel,
// an initramfs with plimsoll's agent, a data disk and a disk with programs; it is uploaded once in
// a run and cloned for each VM. The agents connect to this machine over the network.
package vsphere

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/agent/tether"
	"plimsoll/internal/guest/folder"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/guest/supply"
	"plimsoll/internal/live"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/group"
	"plimsoll/internal/vsphere/appliance"
)

// testbed is the open platform.
type testbed struct {
	settings Settings
	at       live.Address
	supply   supply.Supply
	home     *folder.Folder
	site     *appliance.DeployTarget
	lab      *tether.Lab
	own      string // address of this machine
	record   *record
	vms      *group.Groups[*machine] // nil before the vCenter was reached

	closing sync.Once
	closed  error

	deploying sync.Mutex // guards the fields below
	base      *appliance.VM
	programs  int64 // size of the disk with programs; 0 for none
}

func (s Settings) where() appliance.Where {
	return appliance.Where{Datastore: s.Datastore, Network: s.Network, Folder: s.Folder, Pool: s.Pool}
}

// folderPrefix begins the names of folders with the files of appliances.
const folderPrefix = "plimsoll-vsphere-"

func open(ctx context.Context, s Settings) (*testbed, error) {
	if _, err := s.check(); err != nil {
		return nil, err
	}
	from, err := supply.Find(s.Guest)
	if err != nil {
		return nil, err
	}
	return newTestbed(ctx, s, from)
}

func newTestbed(ctx context.Context, s Settings, from supply.Supply) (_ *testbed, err error) {
	t := &testbed{settings: s, supply: from, own: s.Lab}
	if t.at, err = s.check(); err != nil {
		return nil, err
	}
	if t.supply.Kernel.Packed == "" {
		return nil, errors.New("kernel: firmware starts a bzImage, and this is an uncompressed ELF kernel")
	}
	if err := t.drivers(s.Guest); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.Close())
		}
	}()
	if err := t.reach(ctx); err != nil {
		return nil, err
	}
	if t.lab, err = tether.Listen(s.Listen); err != nil {
		return nil, err
	}
	if t.home, err = folder.New(folderPrefix, 0o700); err != nil {
		return nil, err
	}
	if t.record, err = newRecord(s); err != nil {
		return nil, err
	}
	t.vms, err = group.New(machineName, t.taking(s), func([]*machine) error { return nil })
	return t, err
}

// reach logs in to the vCenter and checks the privileges of the account.
func (t *testbed) reach(ctx context.Context) (err error) {
	if t.own == "" {
		if t.own, err = ownAddress(t.at.Host); err != nil {
			return err
		}
	}
	if t.site, err = appliance.Open(ctx, t.at, t.settings.where()); err != nil {
		return err
	}
	if err := t.site.Ready(t.settings.Host); err != nil {
		return err
	}
	missing, err := t.site.Missing(ctx, !t.settings.DRS)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s lacks privileges on %s: %s", t.at.User, t.at, strings.Join(missing, "; "))
	}
	return nil
}

// Machine is the VM of a study that has only one.
func (t *testbed) Machine() platform.Machine { return t.vms.First() }

// Scratch is a folder on the data disk for workloads.
func (t *testbed) Scratch() string { return spec.Scratch + "/study" }

// goodbye is how long the removal of all VMs may take.
const goodbye = 5 * time.Minute

// Close removes all VMs. Where that fails, plimsoll restore can do it later.
func (t *testbed) Close() error {
	t.closing.Do(func() { t.closed = t.close() })
	return t.closed
}

func (t *testbed) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	var err error
	if t.vms != nil {
		err = t.vms.End(ctx)
	}
	if t.lab != nil {
		err = errors.Join(err, t.lab.Close())
	}
	err = errors.Join(err, t.clear(ctx))
	if t.site != nil {
		err = errors.Join(err, t.site.Close())
	}
	if t.home != nil {
		err = errors.Join(err, t.home.Remove())
	}
	return err
}

// clear removes what is left of the run, the appliance above all, and then its record.
func (t *testbed) clear(ctx context.Context) error {
	if t.record == nil {
		return nil
	}
	if _, err := t.site.Sweep(ctx, t.record.Prefix, t.record.Mark); err != nil {
		return errors.Join(fmt.Errorf("%w; plimsoll restore removes what is left", err), t.record.leave())
	}
	return t.record.forget()
}

// Members makes or removes VMs of groups until each has as many as it wants. A VM takes the settings
// of its group when it is made; afterwards only factors change it.
func (t *testbed) Members(ctx context.Context, groups ...platform.Group) ([][]platform.Machine, error) {
	return t.vms.Members(ctx, groups, func(g platform.Group) (func(group.Identity) (*machine, error), error) {
		settings, err := group.Settings(g, t.settings, t.fits)
		return t.taking(settings), err
	})
}

// fits checks the settings of a group. All VMs have the same appliance.
func (t *testbed) fits(s *Settings) error {
	*s = s.settled()
	if _, err := s.check(); err != nil {
		return err
	}
	u := t.settings
	if s.URL != u.URL || s.where() != u.where() || s.DiskSize != u.DiskSize || s.Kernel != u.Kernel || s.Modules != u.Modules || s.DRS != u.DRS || s.Hardware != u.Hardware || s.Listen != u.Listen || s.Lab != u.Lab {
		return errors.New("url, places, drs, hardware, disk, kernel, listen and lab are the same for all groups")
	}
	return t.drivers(s.Guest)
}

// taking makes machines with such settings. They are deployed when they are needed.
func (t *testbed) taking(s Settings) func(group.Identity) (*machine, error) {
	return func(seat group.Identity) (*machine, error) {
		if n := len(t.settings.Addresses); n > 0 && seat.Number > n {
			return nil, fmt.Errorf("VM %s: the settings have addresses for %d VMs only", seat.Name, n)
		}
		m := &machine{Next: spec.NewNext(seat.Name, s.Guest), slot: slot{bed: t, number: seat.Number, host: s.Host}, claims: s.Claims}
		m.Up = m.agent
		return m, nil
	}
}
