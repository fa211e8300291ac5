package vsphere

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"plimsoll/internal/agent/remote"
	"plimsoll/internal/guest/layout"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/guest/view"
	"plimsoll/internal/platform"
)

// machine is a VM of the study. It is made and boots when it is first needed, and boots again after
// a change of its settings.
type machine struct {
	remote.Lasting
	*spec.Next
	slot slot

	mu      sync.Mutex // guards the fields below
	claims  spec.Claims
	running *instance // nil while it is off
	ended   bool      // for good
}

// Limits returns the reason why vSphere cannot provide the settings.
func (m *machine) Limits(g spec.Guest) error {
	return errors.Join(limits(g), m.slot.bed.drivers(g))
}

// Claims returns the claims that the next boot takes.
func (m *machine) Claims() spec.Claims {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.claims
}

// SetClaims changes the claims. The VM reboots when it is next needed.
func (m *machine) SetClaims(c spec.Claims) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.claims = c
}

// ReadClaims reads the claims from the vCenter.
func (m *machine) ReadClaims(ctx context.Context) (c spec.Claims, err error) {
	if _, err := m.instance(ctx); err != nil {
		return c, err
	}
	s, err := m.slot.vm.Read(ctx, int64(m.slot.bed.settings.DiskSize))
	return claimsOf(s), err
}

// Running returns the VM as it runs, booted first where necessary.
func (m *machine) Running(ctx context.Context) (spec.Running, error) {
	i, err := m.instance(ctx)
	if err != nil {
		return spec.Running{}, err
	}
	return spec.Running{Agent: i.agent, Spec: i.spec}, nil
}

// Boot boots the VM, unless it runs.
func (m *machine) Boot(ctx context.Context) error {
	_, err := m.instance(ctx)
	return err
}

// instance is the running VM, booted first where necessary.
func (m *machine) instance(ctx context.Context) (*instance, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended {
		return nil, fmt.Errorf("VM %s: the study has ended it", m.Name())
	}
	if i := m.running; i != nil {
		if i.agent.Err() == nil && i.spec == m.Spec() && i.claims == m.claims {
			return i, nil
		}
		m.running = nil
		if err := m.slot.stop(ctx, i); err != nil && i.agent.Err() == nil {
			return nil, fmt.Errorf("stop VM %s: %w", m.Name(), err)
		}
	}
	if err := claimable(m.claims, m.Spec()); err != nil {
		return nil, fmt.Errorf("boot VM %s: %w", m.Name(), err)
	}
	i, err := m.slot.boot(ctx, m)
	if err != nil {
		return nil, fmt.Errorf("boot VM %s: %w", m.Name(), err)
	}
	m.running = i
	return i, nil
}

// agent is the agent of the running VM.
func (m *machine) agent(ctx context.Context) (*remote.Machine, error) {
	i, err := m.instance(ctx)
	if err != nil {
		return nil, err
	}
	return i.agent, nil
}

// End removes the VM.
func (m *machine) End(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = true
	if i := m.running; i != nil {
		m.running = nil
		_ = i.agent.Close() // the VM goes with all that is in it
	}
	if err := m.slot.remove(ctx); err != nil {
		return fmt.Errorf("remove VM %s: %w", m.Name(), err)
	}
	return nil
}

// Address is the one from which the VM reaches this machine.
func (m *machine) Address(ctx context.Context) (string, error) {
	i, err := m.instance(ctx)
	if err != nil {
		return "", err
	}
	return i.address, nil
}

// Facts describe the VM and its host.
func (m *machine) Facts(ctx context.Context) ([]platform.Fact, error) {
	i, err := m.instance(ctx)
	if err != nil {
		return nil, err
	}
	v, err := view.Read(func(name string) ([]byte, error) { return i.agent.ReadFile(ctx, name) })
	if err != nil {
		return nil, err
	}
	p, err := m.slot.vm.Placement(ctx)
	if err != nil {
		return nil, err
	}
	b := m.slot.bed
	return []platform.Fact{
		{Name: "vsphere.vcenter", Value: b.site.About()}, {Name: "vsphere.cluster", Value: b.at.String()},
		{Name: "vsphere.vm", Value: m.slot.vm.Name()}, {Name: "vsphere.host", Value: p.Host}, {Name: "vsphere.hardware", Value: p.Hardware},
		{Name: "vsphere.host.cpu", Value: p.CPU},
		{Name: "guest.kernel", Value: b.supply.Kernel.Version + " " + b.supply.Kernel.Digest},
		{Name: "guest.processors", Value: layout.Seen(v).String()},
		{Name: "guest.boot", Value: fmt.Sprintf("%.2f s", i.boot.Seconds())},
	}, nil
}

// Caution is empty: vSphere runs VMs on its processors.
func (m *machine) Caution(context.Context) (string, error) { return "", nil }
