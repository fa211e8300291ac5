package guest

import (
	"context"
	"fmt"

	"plimsoll/internal/guest/layout"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/platform"
)

// Facts say what the guest runs on.
func (m *machine) Facts(ctx context.Context) ([]platform.Fact, error) {
	v, err := m.view(ctx)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	f, chosen := m.vm.Facts(), m.chosen
	m.mu.Unlock()
	facts := []platform.Fact{
		{Name: "guest.accelerator", Value: fmt.Sprintf("%s: %s", chosen.Accelerator, chosen.Why)},
		{Name: "guest.qemu", Value: f.Version.String()},
		{Name: "guest.kernel", Value: f.Kernel},
		{Name: "guest.processors", Value: layout.Seen(v).String()},
		{Name: "guest.boot", Value: fmt.Sprintf("%.2f s", f.Boot.Seconds)},
	}
	if address, err := m.Address(ctx); err == nil {
		card, err := m.card(ctx)
		if err != nil {
			return nil, err
		}
		facts = append(facts, platform.Fact{Name: "guest.network", Value: fmt.Sprintf("%s, %s", address, card)})
	}
	for _, why := range f.Boot.Failed {
		facts = append(facts, platform.Fact{Name: "guest.boot.retried", Value: why})
	}
	return facts, nil
}

// Sees is how the guest sees its processors and memory now.
func (m *machine) Sees(ctx context.Context) (all []platform.Fact, err error) {
	v, err := m.view(ctx)
	for _, r := range v.Rows() {
		all = append(all, platform.Fact{Name: r.Name, Value: r.Value})
	}
	return all, err
}

// Caution is said where numbers of the guest are not those of a virtual machine.
func (m *machine) Caution(ctx context.Context) (string, error) {
	if _, err := m.up(ctx); err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.settings.VirtualTime > 0:
		return "virtual time: the guest's clock counts instructions; nothing here is a speed of any machine", nil
	case m.chosen.Accelerator == qemu.TCG:
		return "no KVM: QEMU interprets every instruction of the guest; read shapes and not speeds", nil
	}
	return "", nil
}

// Given is what this host gave to the guest since it booted.
func (m *machine) Given(ctx context.Context) (g platform.Given, err error) {
	if _, err := m.up(ctx); err != nil {
		return g, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.given(ctx)
}

// given is what the host gave to all processes in which the guest has been since it booted.
// The lock is held.
func (m *machine) given(ctx context.Context) (g platform.Given, err error) {
	u, err := m.vm.Usage(ctx)
	if err != nil {
		return g, err
	}
	past := m.migration.past
	g.Run, g.Ready, g.Others = past.Run, past.Ready, past.Others
	for _, t := range u.VCPUs {
		g.Run, g.Ready = g.Run+t.Run, g.Ready+t.Wait
	}
	for _, t := range u.Others {
		g.Others += t.Run
	}
	if m.server != nil {
		used, err := m.server.used()
		if err != nil {
			return g, err
		}
		g.Others += used
	}
	if g.Exits = -1; u.Exits != nil {
		g.Exits = max(0, past.Exits) + *u.Exits
	}
	return g, nil
}
