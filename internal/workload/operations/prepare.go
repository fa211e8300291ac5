package operations

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/workload"
	"plimsoll/internal/workload/operations/management"
	"plimsoll/internal/workload/operations/owner"
)

// Prepare has the VMs there that a load starts with: none with a snapshot, every other one powered
// on. It removes other VMs of the owner, such as those of a load that was killed.
func (l *operations) Prepare(ctx context.Context, env workload.Env) (err error) {
	p, err := l.connect(ctx, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if err := l.authorize(ctx, p); err != nil {
		return err
	}
	if l.lab, err = owner.This(env.Machine == nil); err != nil {
		return err
	}
	s, err := l.survey(ctx, p)
	if err != nil {
		return err
	}
	if err := l.alone(s.VMs); err != nil { // before anything is removed
		return err
	}
	atOnce := l.atOnce(s)
	var keep []management.VM
	err = l.empty(ctx, p, atOnce, func() (surplus []management.VM, err error) {
		if s, err = l.survey(ctx, p); err == nil {
			err = l.alone(s.VMs)
		}
		keep, surplus = l.sort(s.VMs)
		return surplus, err
	})
	if err != nil {
		return fmt.Errorf("remove VMs of an earlier load: %w", err)
	}
	var missing []management.VM
	for n := len(keep); n < l.base(); n++ {
		missing = append(missing, management.VM{Name: l.freeName(s.VMs, n), Host: s.Hosts[n%len(s.Hosts)], Power: wanted(n)})
	}
	if err := owner.Each(missing, atOnce, func(v management.VM) error { return l.create(ctx, p, v) }); err != nil {
		return fmt.Errorf("create the VMs of the load: %w", err)
	}
	return nil
}

// atOnce is how many VMs are created or removed at a time: they are spread over the hosts.
func (l *operations) atOnce(s management.Survey) int {
	return min(l.Slots, l.PerHost*max(1, len(s.Hosts)))
}

// wanted is the power state in which a load finds its n-th VM.
func wanted(n int) management.Power {
	if n%2 == 0 {
		return management.On
	}
	return management.Off
}

// authorize refuses an account that lacks privileges for an operation of the load.
func (l *operations) authorize(ctx context.Context, p management.Platform) error {
	asked, can := p.(management.Privileged)
	if !can {
		return nil
	}
	kinds := []management.Kind{management.Create, management.Delete, management.PowerOn, management.PowerOff}
	for _, s := range l.mix {
		if !slices.Contains(kinds, s.kind) {
			kinds = append(kinds, s.kind)
		}
	}
	missing, err := asked.Missing(ctx, kinds)
	if err != nil {
		return fmt.Errorf("check the privileges of the account: %w", err)
	}
	if len(missing) > 0 {
		return &workload.Refused{Err: fmt.Errorf("the account lacks privileges: grant it %s", strings.Join(missing, "; "))}
	}
	return nil
}

// others reports whether a VM belongs to another lab that runs.
func (l *operations) others(v management.VM) (process int, is bool) {
	m, err := owner.LabIn(v.Note)
	return m.Process, err == nil && m != l.lab && m.Life() == owner.Running
}

// alone refuses to share an owner with another lab that runs: they would remove each other's VMs.
func (l *operations) alone(vms []management.VM) error {
	for _, v := range vms {
		if process, is := l.others(v); is {
			return &workload.Refused{Err: fmt.Errorf("the VMs of owner %q belong to another plimsoll that runs, process %d: set another owner", l.Owner, process)}
		}
	}
	return nil
}

// sort divides VMs into those that a load can start with, which this lab has made, and others.
func (l *operations) sort(vms []management.VM) (keep, surplus []management.VM) {
	for _, v := range vms {
		n := len(keep)
		if m, err := owner.LabIn(v.Note); err == nil && m == l.lab && n < l.base() && v.Snapshots == 0 && v.Power == wanted(n) {
			keep = append(keep, v)
		} else {
			surplus = append(surplus, v)
		}
	}
	return keep, surplus
}

// freeName is the name of the n-th VM: one that no VM has, also none that is about to be removed.
func (l *operations) freeName(vms []management.VM, n int) string {
	for generation := 0; ; generation++ {
		name := fmt.Sprintf("%sbase-%d-%06d", owner.Names(l.Owner, l.lab), generation, n)
		taken := false
		for _, v := range vms {
			taken = taken || v.Name == name
		}
		if !taken {
			return name
		}
	}
}

func (l *operations) create(ctx context.Context, p management.Platform, v management.VM) error {
	out, err := owner.Perform(ctx, p, management.Order{Kind: management.Create, Name: v.Name, Host: v.Host, Mark: l.note(), Size: l.size()})
	if err != nil || v.Power != management.On {
		return err
	}
	_, err = owner.Perform(ctx, p, management.Order{Kind: management.PowerOn, VM: out.VM, From: v.Host})
	return err
}

// Clean removes all VMs of the owner but those of another lab that runs. A platform that plimsoll
// started and that is gone has none.
func (l *operations) Clean(ctx context.Context, env workload.Env) (err error) {
	if env.Target == nil {
		return nil
	}
	p, err := l.connect(ctx, env)
	if errors.Is(err, errNone) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove the VMs %s*: %w", owner.Prefix, err)
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	s, err := p.Survey(ctx, owner.Prefix, l.mark())
	if err != nil {
		return fmt.Errorf("list the VMs %s*: %w", owner.Prefix, err)
	}
	if l.lab, err = owner.This(env.Machine == nil); err != nil {
		return err
	}
	err = l.empty(ctx, p, l.atOnce(s), func() ([]management.VM, error) {
		s, err := p.Survey(ctx, owner.Prefix, l.mark())
		return slices.DeleteFunc(s.VMs, func(v management.VM) bool {
			_, is := l.others(v)
			return is
		}), err
	})
	if err != nil {
		return fmt.Errorf("remove the VMs %s*: %w", owner.Prefix, err)
	}
	return nil
}

// empty deletes the VMs of a list until it is empty, and what a load leaves that was killed while it
// registered VMs. Its last operations may end meanwhile, and turn the one into the other.
func (l *operations) empty(ctx context.Context, p management.Platform, atOnce int, list func() ([]management.VM, error)) error {
	sweep := func() error {
		if l.entry(management.Register) < 0 {
			return nil
		}
		return owner.Sweep(ctx, p, l.Owner, l.lab)
	}
	if err := sweep(); err != nil {
		return err
	}
	if err := owner.Empty(ctx, p, atOnce, list); err != nil {
		return err
	}
	return sweep()
}
