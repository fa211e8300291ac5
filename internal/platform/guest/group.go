package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"plimsoll/internal/guest/capacity"
	"plimsoll/internal/guest/folder"
	"plimsoll/internal/guest/furnish"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/guest/supply"
	"plimsoll/internal/guest/vswitch"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// testbed is the open platform: one VM, or groups of them. They share a folder, images and
// the switch between them.
type testbed struct {
	machine  *machine // the first of the group without a name
	supply   supply.Supply
	study    spec.Guest // defaults of a group
	home     *folder.Folder
	network  *vswitch.Switch
	capacity *capacity.Capacity
	turns    chan struct{} // one for each VM that boots

	making sync.Mutex // held to create what VMs share

	mu     sync.Mutex // held to change the fields below
	groups map[string][]*machine
	taken  []bool // numbers of machines, from 1
}

// folderPrefix begins the names of the folders of VMs, by which they are found.
const folderPrefix = "plimsoll-guest-"

func newTestbed(s supply.Supply, g spec.Guest) (*testbed, error) {
	home, err := folder.New(folderPrefix, 0o700)
	if err != nil {
		return nil, err
	}
	t := &testbed{
		supply: s, study: g, home: home, network: vswitch.New(vswitch.Options{}), capacity: capacity.New(home.Path, capacity.ThisHost()),
		turns: make(chan struct{}, runtime.NumCPU()), groups: map[string][]*machine{},
	}
	if t.machine, err = t.add(machineName, g); err != nil {
		return nil, errors.Join(err, home.Remove())
	}
	t.groups[""] = []*machine{t.machine}
	return t, nil
}

// add makes a machine with a folder of its own. It boots when it is needed.
func (t *testbed) add(name string, g spec.Guest) (*machine, error) {
	number := slices.Index(t.taken, false) + 1
	if number == 0 {
		t.taken = append(t.taken, false)
		number = len(t.taken)
	}
	if number > mostAddresses {
		return nil, fmt.Errorf("%d guests: there are addresses for %d", number, mostAddresses)
	}
	home, err := t.home.Inner(fmt.Sprint(number))
	if err != nil {
		return nil, err
	}
	t.taken[number-1] = true
	m := &machine{slot: slot{bed: t, number: number, home: home}, name: name, spec: g}
	m.Up = m.agent
	return m, nil
}

// enter waits for a turn to boot: a VM that boots uses a CPU, and more of them at a time
// only delay each other.
func (t *testbed) enter(ctx context.Context) (leave func(), err error) {
	select {
	case t.turns <- struct{}{}:
		return func() { <-t.turns }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
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
	return furnish.ProgramDisk(ctx, t.supply.Cache)
}

// Members boots or ends VMs of a group until it has as many as it wants. As many boot at a
// time as this host has CPUs. A VM takes the settings of its group when it is made; afterwards
// only factors change it.
func (t *testbed) Members(ctx context.Context, g platform.Group) ([]platform.Machine, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if g.Machines < 1 {
		return nil, fmt.Errorf("%d guests%s: must be 1 or more", g.Machines, of(g))
	}
	settings := t.study
	if err := parameter.Decode(&settings, g.Settings); err != nil {
		return nil, fmt.Errorf("settings%s: %w", of(g), err)
	}
	if _, err := settings.Shape(machineName); err != nil {
		return nil, fmt.Errorf("settings%s: %w", of(g), err)
	}
	prefix := g.Name
	if prefix == "" {
		prefix = machineName
		t.machine.mu.Lock()
		t.machine.name = prefix + "-1"
		t.machine.mu.Unlock()
	}
	all := t.groups[g.Name]
	keep := min(len(all), g.Machines)
	err := each(slices.Clone(all[keep:]), func(m *machine) error { return t.endOne(ctx, m) })
	all = all[:keep]
	for err == nil && len(all) < g.Machines {
		var m *machine
		if m, err = t.add(fmt.Sprintf("%s-%d", prefix, len(all)+1), settings); err == nil {
			all = append(all, m)
		}
	}
	t.groups[g.Name] = all
	if err != nil {
		return nil, err
	}
	if err := t.afford(all); err != nil {
		return nil, err
	}
	if err := each(all, func(m *machine) error { _, err := m.instance(ctx); return err }); err != nil {
		return nil, err
	}
	members := make([]platform.Machine, len(all))
	for i, m := range all {
		members[i] = m
	}
	return members, nil
}

func of(g platform.Group) string {
	if g.Name == "" {
		return ""
	}
	return " of group " + g.Name
}

// each calls a function for all machines at once.
func each(all []*machine, do func(*machine) error) error {
	errs := make([]error, len(all))
	var done sync.WaitGroup
	for i, m := range all {
		done.Go(func() { errs[i] = do(m) })
	}
	done.Wait()
	return errors.Join(errs...)
}

// afford checks before the first of several VMs boots that all of them fit.
func (t *testbed) afford(all []*machine) error {
	claims := make([]capacity.Claim, len(all))
	for i, m := range all {
		m.mu.Lock()
		claims[i] = m.slot.claim(m.spec)
		m.mu.Unlock()
	}
	return t.capacity.Claim(claims...)
}

func (t *testbed) endOne(ctx context.Context, m *machine) error {
	err := m.end(ctx)
	t.taken[m.slot.number-1] = false
	return err
}

// Close ends all VMs and removes their files.
func (t *testbed) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []*machine
	for _, group := range t.groups {
		all = append(all, group...)
	}
	err := each(all, func(m *machine) error { return m.end(ctx) })
	t.groups = map[string][]*machine{}
	t.network.Close()
	return errors.Join(err, t.home.Remove())
}
