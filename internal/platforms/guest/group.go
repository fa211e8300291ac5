package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"plimsoll/internal/guest/capacity"
	"plimsoll/internal/guest/folder"
	"plimsoll/internal/guest/provision"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/guest/supply"
	"plimsoll/internal/guest/vswitch"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/group"
)

// testbed is the open platform: one VM, or groups of them. They share a folder, images and
// the switch between them.
type testbed struct {
	vms      *group.Groups[*machine]
	supply   supply.Supply
	study    spec.Guest // defaults of a group
	home     *folder.Folder
	network  *vswitch.Switch
	capacity *capacity.Capacity
	host     *host
	others   *others
	images   *images

	making sync.Mutex // held to create what VMs share
}

// folderPrefix begins the names of the folders of VMs, by which they are found.
const folderPrefix = "plimsoll-guest-"

func newTestbed(s supply.Supply, g spec.Guest, on, other platform.Kind) (*testbed, error) {
	home, err := folder.New(folderPrefix, 0o711) // the daemons of a cluster in it are those of an ordinary user
	if err != nil {
		return nil, err
	}
	t := &testbed{
		supply: s, study: g, home: home, network: vswitch.New(vswitch.Options{}), capacity: capacity.New(home.Path, capacity.ThisHost()),
		host: &host{kind: on}, others: &others{kind: other},
	}
	t.images = newImages(t.host.machine)
	if t.vms, err = group.New(machineName, t.taking(g), t.afford); err != nil {
		return nil, errors.Join(err, home.Remove())
	}
	return t, nil
}

// taking makes machines with such settings, each with a folder of its own. They boot when they are
// needed.
func (t *testbed) taking(g spec.Guest) func(group.Identity) (*machine, error) {
	return func(s group.Identity) (*machine, error) {
		if s.Number > mostGuests {
			return nil, fmt.Errorf("%d guests: there are addresses for %d", s.Number, mostGuests)
		}
		home, err := t.home.Inner(fmt.Sprint(s.Number))
		if err != nil {
			return nil, err
		}
		m := &machine{slot: slot{bed: t, number: s.Number, home: home}, Next: spec.NewNext(s.Name, g)}
		m.Up, m.slot.owner = m.agent, m
		return m, nil
	}
}

// initramfs is the file with such sets of modules that VMs boot from.
func (t *testbed) initramfs(modules []string) (string, error) {
	t.making.Lock()
	defer t.making.Unlock()
	name := t.home.File("initramfs-" + strings.Join(modules, "-"))
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	return name, t.supply.WriteInitramfs(name, modules, 0o600)
}

// programs is the file with programs of the host, which all VMs share; empty where there are
// none.
func (t *testbed) programs(ctx context.Context) (string, error) {
	t.making.Lock()
	defer t.making.Unlock()
	return provision.ProgramDisk(ctx, t.supply.Cache)
}

// Machine is the VM of a study that has only one.
func (t *testbed) Machine() platform.Machine { return t.vms.First() }

// Members boots or ends VMs of groups until each has as many as it wants. As many boot at a
// time as this host has CPUs. A VM takes the settings of its group when it is made; afterwards
// only factors change it.
func (t *testbed) Members(ctx context.Context, groups ...platform.Group) ([][]platform.Machine, error) {
	return t.vms.Members(ctx, groups, func(g platform.Group) (func(group.Identity) (*machine, error), error) {
		settings, err := group.Settings(g, t.study, possible)
		if err == nil {
			_, err = t.others.host(ctx, settings)
		}
		return t.taking(settings), err
	})
}

// afford checks before the first of several VMs boots that all of them fit.
func (t *testbed) afford(all []*machine) error {
	claims := make([]capacity.Claim, len(all))
	for i, m := range all {
		claims[i] = m.slot.claim(m.Spec())
	}
	return t.capacity.Claim(claims...)
}

// Close ends all VMs and removes their files.
func (t *testbed) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	err := t.vms.End(ctx)
	t.network.Close()
	return errors.Join(err, t.others.close(), t.host.close(), t.home.Remove())
}
