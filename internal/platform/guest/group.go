package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"plimsoll/internal/guest/folder"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// testbed is the platform, open: one guest, or groups of them. They share a folder, the
// archives that they boot into, and the switch between them.
type testbed struct {
	machine *machine // the first of the group without a name
	depot   depot
	study   Settings // what a group does not set otherwise
	home    *folder.Folder
	net     *network
	room    *room
	turns   chan struct{} // one for each guest that boots

	making sync.Mutex // held to make what guests share

	mu     sync.Mutex // held to change what follows
	groups map[string][]*machine
	taken  []bool // numbers of machines, from 1
}

// folderPrefix begins the names of the folders of guests, which are found by it.
const folderPrefix = "plimsoll-guest-"

func newTestbed(d depot, s Settings) (*testbed, error) {
	home, err := folder.New(folderPrefix, 0o700)
	if err != nil {
		return nil, err
	}
	t := &testbed{
		depot: d, study: s, home: home, net: newNetwork(), room: newRoom(home.Path, thisHost()),
		turns: make(chan struct{}, runtime.NumCPU()), groups: map[string][]*machine{},
	}
	if t.machine, err = t.add(machineName, s); err != nil {
		return nil, errors.Join(err, home.Remove())
	}
	t.groups[""] = []*machine{t.machine}
	return t, nil
}

// add makes a machine with a folder of its own. It boots when it is needed.
func (t *testbed) add(name string, s Settings) (*machine, error) {
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
	m := &machine{bed: t, number: number, home: home, depot: t.depot, name: name, settings: s}
	m.Up = m.up
	return m, nil
}

// enter waits for a turn to boot: guests that boot use a CPU each, and more of them at a
// time only make each other late.
func (t *testbed) enter(ctx context.Context) (leave func(), err error) {
	select {
	case t.turns <- struct{}{}:
		return func() { <-t.turns }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// archive is the file that guests boot into which need such sets of modules.
func (t *testbed) archive(parts []string) (string, error) {
	t.making.Lock()
	defer t.making.Unlock()
	name := filepath.Join(t.home.Path, "initramfs-"+strings.Join(parts, "-"))
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	return name, t.depot.initramfs(name, parts)
}

// Members are the guests of a group, as many as it wants. Those that are missing are
// booted, as many at a time as this host has CPUs; those that are too many are ended, the
// last first. A guest takes the group's settings when it is made; afterwards factors alone
// change it.
func (t *testbed) Members(ctx context.Context, g platform.Group) ([]platform.Machine, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if g.Machines < 1 {
		return nil, fmt.Errorf("%d guests%s: ask for 1 or more", g.Machines, of(g))
	}
	s := t.study
	if err := parameter.Decode(&s, g.Settings); err != nil {
		return nil, fmt.Errorf("settings%s: %w", of(g), err)
	}
	if _, err := s.shape(); err != nil {
		return nil, fmt.Errorf("settings%s: %w", of(g), err)
	}
	prefix := g.Name
	if prefix == "" {
		prefix = machineName
		t.machine.call(prefix + "-1")
	}
	all := t.groups[g.Name]
	keep := min(len(all), g.Machines)
	err := each(slices.Clone(all[keep:]), func(m *machine) error { return t.endOne(ctx, m) })
	all = all[:keep]
	for err == nil && len(all) < g.Machines {
		var m *machine
		if m, err = t.add(fmt.Sprintf("%s-%d", prefix, len(all)+1), s); err == nil {
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
	if err := each(all, func(m *machine) error { _, err := m.up(ctx); return err }); err != nil {
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

// each does something for all machines at a time.
func each(all []*machine, do func(*machine) error) error {
	errs := make([]error, len(all))
	var done sync.WaitGroup
	for i, m := range all {
		done.Go(func() { errs[i] = do(m) })
	}
	done.Wait()
	return errors.Join(errs...)
}

// afford says before the first of several guests starts whether there is room for all.
func (t *testbed) afford(all []*machine) error {
	claims := make([]claim, len(all))
	for i, m := range all {
		claims[i] = m.needsNow()
	}
	return t.room.claim(claims...)
}

func (t *testbed) endOne(ctx context.Context, m *machine) error {
	err := m.end(ctx)
	t.taken[m.number-1] = false
	return err
}

// Close ends all guests. Nothing of them is left.
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
	return errors.Join(err, t.net.close(), t.home.Remove())
}
