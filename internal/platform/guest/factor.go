package guest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/agent/remote"
	"plimsoll/internal/factor"
	"plimsoll/internal/guest/qemu"
)

// Factors are the parts of a guest's shape that a study may vary. A guest boots anew for
// each change, and what it then sees of itself is what counts.
func Factors() []factor.Factor {
	return []factor.Factor{
		topologyFactor(), vcpusFactor(), nodesFactor(), modelFactor(), memoryFactor(), hugePagesFactor(), hostNodesFactor(),
		controllerFactor(), cacheFactor(), aioFactor(), ioThreadFactor(), queuesFactor(), ioFilterFactor(), storageFactor(),
		parametersFactor(), nicFactor(), pinFactor(), schedulerFactor(), migrationFactor(),
	}
}

// part is one setting of the shape: how it is set, and how the guest sees it.
type part struct {
	check func(m *machine, level string) (string, error) // nil: the settings go together, and canon says it
	canon func(s Settings) string
	see   func(ctx context.Context, m *machine) (string, error)
	set   func(s *Settings, level string) error
}

func (p part) factor(f factor.Factor) factor.Factor {
	f.Restart = true
	f.Check = func(_ context.Context, at factor.Place, level string) (string, error) {
		var trial Settings
		if err := p.set(&trial, level); err != nil {
			return "", err
		}
		if at.Machine == nil {
			return level, nil
		}
		m, err := guestOf(at)
		if err != nil {
			return "", err
		}
		if p.check != nil {
			return p.check(m, level)
		}
		return p.judge(m, level)
	}
	f.Get = func(ctx context.Context, at factor.Place) (string, error) {
		m, err := guestOf(at)
		if err != nil {
			return "", err
		}
		return p.see(ctx, m)
	}
	f.Set = func(ctx context.Context, at factor.Place, level string) error {
		m, err := guestOf(at)
		if err != nil {
			return err
		}
		return m.reshape(func(s *Settings) error { return p.set(s, level) })
	}
	return f
}

// judge says whether a level goes together with the other settings of the guest.
func (p part) judge(m *machine, level string) (string, error) {
	m.mu.Lock()
	s, chosen := m.settings, m.chosen.Accelerator
	m.mu.Unlock()
	if err := p.set(&s, level); err != nil {
		return "", err
	}
	if err := s.possible(chosen); err != nil {
		return "", err
	}
	return p.canon(s), nil
}

func guestOf(at factor.Place) (*machine, error) {
	m, ok := at.Machine.(*machine)
	if !ok {
		return nil, fmt.Errorf("only platform guest has it: %w", errors.ErrUnsupported)
	}
	return m, nil
}

// live is the guest as QEMU has it and as its own kernel has it, booted where it was not.
func (m *machine) live(ctx context.Context) (r live, err error) {
	if r.far, err = m.up(ctx); err != nil {
		return r, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r.vm, r.server, r.settings = m.vm, m.server, m.booted
	return r, nil
}

type live struct {
	far      *remote.Machine
	vm       *qemu.Guest
	server   *server // of its disk; nil where QEMU opens the file
	settings Settings
}

// one is a setting that is read back from what runs.
func one(see func(ctx context.Context, r live) (string, error)) func(context.Context, *machine) (string, error) {
	return func(ctx context.Context, m *machine) (string, error) {
		r, err := m.live(ctx)
		if err != nil {
			return "", err
		}
		return see(ctx, r)
	}
}

// among sets a text that is one of a few.
func among(what string, to func(s *Settings) *string, levels ...string) func(*Settings, string) error {
	return func(s *Settings, level string) error {
		if !slices.Contains(levels, level) {
			return fmt.Errorf("%q is no %s: want %s", level, what, strings.Join(levels, ", "))
		}
		*to(s) = level
		return nil
	}
}

// same is a level that is its own canonical form.
func same(_ *machine, level string) (string, error) { return level, nil }
