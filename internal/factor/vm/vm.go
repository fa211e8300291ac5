// Package vm holds the factors of VMs that platforms start. A VM reboots for each change, and
// levels are read back from its kernel or the host's.
package vm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/factor"
	"plimsoll/internal/guest/spec"
)

// Factors lists them.
func Factors() []factor.Factor {
	return []factor.Factor{
		topology(), vcpus(), nodes(), model(), memory(), hugePages(), hostNodes(), backing(), controller(), cache(), aio(), ioThread(), queues(), ioFilter(), protection(), fabric(), storage(),
		parameters(), nic(), pin(), scheduler(), coreScheduling(), migration(), cpuReservation(), cpuShares(), memoryReservation(), latencySensitivity(),
	}
}

// setting is one setting of a VM.
type setting struct {
	// ownQEMU marks settings that only QEMU or the host's kernel can read back, so that QEMU
	// must be a child of this program.
	ownQEMU bool
	// disk marks settings of the disk, which are read from the VM that has it on a controller.
	disk bool
	set  func(g *spec.Guest, level string) error
	read func(ctx context.Context, r spec.Running) (string, error)
	// canonical returns the level of settings that are validated together.
	canonical func(g spec.Guest) string
	// check replaces the default validation.
	check func(m spec.Machine, g spec.Guest, level string) (string, error)
}

func (s setting) factor(f factor.Factor) factor.Factor {
	f.Restart = true
	f.Check = func(_ context.Context, at factor.Env, level string) (string, error) {
		var alone spec.Guest
		if err := s.set(&alone, level); err != nil || at.Machine == nil {
			return level, err
		}
		m, err := s.machine(at)
		if err != nil {
			return "", err
		}
		return s.judge(m, level)
	}
	f.Get = func(ctx context.Context, at factor.Env) (string, error) {
		m, err := s.machine(at)
		if err != nil {
			return "", err
		}
		r, err := m.Running(ctx)
		if err != nil {
			return "", err
		}
		if s.disk {
			r = r.Holder()
		}
		return s.read(ctx, r)
	}
	f.Set = func(ctx context.Context, at factor.Env, level string) error {
		m, err := s.machine(at)
		if err != nil {
			return err
		}
		return m.Reshape(func(g *spec.Guest) error { return s.set(g, level) })
	}
	return f
}

// machine is the VM whose setting it is.
func (s setting) machine(at factor.Env) (spec.Machine, error) {
	switch m := at.Machine.(type) {
	case spec.QEMUOwner:
		return m, nil
	case spec.Machine:
		if s.ownQEMU {
			return nil, fmt.Errorf("only platform guest can read it back: %w", errors.ErrUnsupported)
		}
		return m, nil
	case spec.Fixed:
		return nil, fmt.Errorf("%w: %w", m.WhyFixed(), errors.ErrUnsupported)
	}
	return nil, fmt.Errorf("only VMs that platforms guest, libvirt and vsphere start have it: %w", errors.ErrUnsupported)
}

// judge validates a level with the platform and the other settings, and returns its canonical
// form.
func (s setting) judge(m spec.Machine, level string) (string, error) {
	g := m.Spec()
	if err := s.set(&g, level); err != nil {
		return "", err
	}
	if err := m.Limits(g); err != nil {
		return "", err
	}
	if s.check != nil {
		return s.check(m, g, level)
	}
	own, _ := m.(spec.QEMUOwner)
	var err error
	if own != nil {
		err = g.Possible(own.Accelerator())
	} else {
		err = g.Possible("")
	}
	if err != nil {
		return "", err
	}
	return s.canonical(g), nil
}

// asGiven accepts a level without the other settings, which the study may vary too.
func asGiven(_ spec.Machine, _ spec.Guest, level string) (string, error) { return level, nil }

// oneOf sets one of a list of texts.
func oneOf(what string, to func(g *spec.Guest) *string, levels ...string) func(*spec.Guest, string) error {
	return func(g *spec.Guest, level string) error {
		if !slices.Contains(levels, level) {
			return fmt.Errorf("%q is not a %s: must be %s", level, what, strings.Join(levels, ", "))
		}
		*to(g) = level
		return nil
	}
}

// number sets a number from 1 to most.
func number(what string, most int, to func(g *spec.Guest) *int) func(*spec.Guest, string) error {
	return func(g *spec.Guest, level string) error {
		n, err := strconv.Atoi(level)
		if err != nil || n < 1 || n > most {
			return fmt.Errorf("%q: must be a number of %s from 1 to %d", level, what, most)
		}
		*to(g) = n
		return nil
	}
}
