// Package group keeps the VMs that a platform makes for the groups of a study.
package group

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// VM is a member of a group.
type VM interface {
	comparable
	platform.Machine
	Rename(name string)
	Boot(ctx context.Context) error // unless it runs
	End(ctx context.Context) error  // for good
}

// Identity is the place of a new VM among those of the platform.
type Identity struct {
	Name   string
	Number int // from 1; a VM that ends frees its number
}

// Groups are the VMs of a platform.
type Groups[V VM] struct {
	name  string // of the study's only VM; begins the names of a group without a name
	check func([]V) error
	first V

	mu    sync.Mutex // guards the fields below
	all   map[string][]V
	taken []V // by number, from 1; zero where the number is free
}

// New makes the first VM, which is the only one until there are groups. The check is of all VMs that
// groups have, before the first of them boots.
func New[V VM](name string, take func(Identity) (V, error), check func([]V) error) (*Groups[V], error) {
	g := &Groups[V]{name: name, check: check, all: map[string][]V{}}
	var err error
	if g.first, err = g.add(name, take); err != nil {
		return nil, err
	}
	g.all[""] = []V{g.first}
	return g, nil
}

// First is the VM of a study that has only one.
func (g *Groups[V]) First() V { return g.first }

// Settings are the settings of a group: those of the study, overridden by its own.
func Settings[S any](of platform.Group, s S, check func(*S) error) (S, error) {
	if of.Machines < 1 {
		return s, fmt.Errorf("%d VMs%s: must be 1 or more", of.Machines, named(of))
	}
	err := parameter.Decode(&s, of.Settings)
	if err == nil {
		err = check(&s)
	}
	if err != nil {
		return s, fmt.Errorf("settings%s: %w", named(of), err)
	}
	return s, nil
}

func named(g platform.Group) string {
	if g.Name == "" {
		return ""
	}
	return " of group " + g.Name
}

// Members makes or ends VMs of groups until each has as many as it wants, and then boots all at once. Taking returns the
// function that makes a VM of a group.
func (g *Groups[V]) Members(ctx context.Context, groups []platform.Group, taking func(platform.Group) (func(Identity) (V, error), error)) ([][]platform.Machine, error) {
	takes := make([]func(Identity) (V, error), len(groups))
	for i, of := range groups {
		var err error
		if takes[i], err = taking(of); err != nil {
			return nil, err
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	members, all := make([][]platform.Machine, len(groups)), []V{}
	for i, of := range groups {
		vms, err := g.resize(ctx, of, takes[i])
		if err != nil {
			return nil, err
		}
		for _, vm := range vms {
			members[i] = append(members[i], vm)
		}
		all = append(all, vms...)
	}
	if err := g.check(all); err != nil {
		return nil, err
	}
	if err := each(all, func(vm V) error { return vm.Boot(ctx) }); err != nil {
		return nil, err
	}
	return members, nil
}

// resize makes or ends VMs of a group until it has as many as it wants.
func (g *Groups[V]) resize(ctx context.Context, of platform.Group, take func(Identity) (V, error)) ([]V, error) {
	prefix := of.Name
	if prefix == "" {
		prefix = g.name
		g.first.Rename(prefix + "-1")
	}
	all := g.all[of.Name]
	keep := min(len(all), of.Machines)
	err := g.end(ctx, all[keep:])
	all = all[:keep:keep]
	for err == nil && len(all) < of.Machines {
		var vm V
		if vm, err = g.add(fmt.Sprintf("%s-%d", prefix, len(all)+1), take); err == nil {
			all = append(all, vm)
		}
	}
	g.all[of.Name] = all
	return all, err
}

// removal is how long a VM that was deployed may take to end.
const removal = 2 * time.Minute

// Deploy makes a VM like those of a group, boots it until it answers, and ends it for good, also after a failure and when the context
// ends.
func (g *Groups[V]) Deploy(ctx context.Context, like platform.Group, take func(Identity) (V, error)) error {
	g.mu.Lock()
	vm, err := g.add(like.Name, take)
	if err == nil {
		g.all[like.Name] = append(g.all[like.Name], vm)
		err = g.check([]V{vm})
	}
	g.mu.Unlock()
	var none V
	if vm == none {
		return err
	}
	if err == nil {
		err = vm.Boot(ctx)
	}
	clear, cancel := context.WithTimeout(context.WithoutCancel(ctx), removal)
	defer cancel()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all[like.Name] = slices.DeleteFunc(g.all[like.Name], func(one V) bool { return one == vm })
	return errors.Join(err, g.end(clear, []V{vm}))
}

// add makes a VM with the lowest free number.
func (g *Groups[V]) add(name string, take func(Identity) (V, error)) (V, error) {
	var free V
	i := slices.Index(g.taken, free)
	if i < 0 {
		i = len(g.taken)
		g.taken = append(g.taken, free)
	}
	vm, err := take(Identity{Name: name, Number: i + 1})
	if err == nil {
		g.taken[i] = vm
	}
	return vm, err
}

// end ends VMs and frees their numbers.
func (g *Groups[V]) end(ctx context.Context, all []V) error {
	err := each(all, func(vm V) error { return vm.End(ctx) })
	for _, vm := range all {
		var free V
		g.taken[slices.Index(g.taken, vm)] = free
	}
	return err
}

// End ends all VMs.
func (g *Groups[V]) End(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := slices.Concat(slices.Collect(maps.Values(g.all))...)
	clear(g.all)
	return g.end(ctx, all)
}

// each calls a function for all VMs at once.
func each[V VM](all []V, do func(V) error) error {
	errs := make([]error, len(all))
	var done sync.WaitGroup
	for i, vm := range all {
		done.Go(func() { errs[i] = do(vm) })
	}
	done.Wait()
	return errors.Join(errs...)
}
