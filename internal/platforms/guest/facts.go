package guest

import (
	"context"
	"fmt"
	"strings"

	"plimsoll/internal/guest/coresched"
	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/layout"
	"plimsoll/internal/guest/provision"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/guest/view"
	"plimsoll/internal/platform"
)

// Facts describe the VM's host and hardware.
func (m *machine) Facts(ctx context.Context) ([]platform.Fact, error) {
	i, err := m.instance(ctx)
	if err != nil {
		return nil, err
	}
	v, err := i.topology(ctx)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	f, chosen := i.qemu.Load().Facts(), m.slot.chosen
	m.mu.Unlock()
	facts := []platform.Fact{
		{Name: "guest.accelerator", Value: fmt.Sprintf("%s: %s", chosen.Accelerator, chosen.Why)},
		{Name: "guest.qemu", Value: f.Version.String()},
		{Name: "guest.kernel", Value: f.Kernel},
		{Name: "guest.processors", Value: layout.Seen(v).String()},
		{Name: "guest.boot", Value: fmt.Sprintf("%.2f s", f.Boot.Seconds)},
	}
	if address, err := m.Address(ctx); err == nil {
		card, err := i.card(ctx)
		if err != nil {
			return nil, err
		}
		facts = append(facts, platform.Fact{Name: "guest.network", Value: fmt.Sprintf("%s, %s", address, card)})
	}
	if i.from != nil {
		facts = append(facts, platform.Fact{Name: "guest.fabric", Value: i.from.String()})
	}
	if i.spec.Sharing != string(coresched.Default) {
		s, err := coresched.Read(i.qemu.Load().PID())
		if err != nil {
			return nil, err
		}
		facts = append(facts, platform.Fact{Name: "guest.core_scheduling", Value: fmt.Sprintf("%s, %s", i.spec.Sharing, s)})
	}
	if i.protection != nil {
		facts = append(facts, platform.Fact{Name: "guest.protection", Value: i.protection.String()})
	}
	for _, why := range f.Boot.Failed {
		facts = append(facts, platform.Fact{Name: "guest.boot.retried", Value: why})
	}
	return facts, nil
}

// topology is the CPU topology that the VM sees.
func (i *instance) topology(ctx context.Context) (view.Topology, error) {
	return view.Read(func(name string) ([]byte, error) { return i.agent.ReadFile(ctx, name) })
}

// card describes the network card that the VM sees.
func (i *instance) card(ctx context.Context) (string, error) {
	model, err := provision.Card(ctx, i.agent)
	if err != nil {
		return "", err
	}
	queues, err := provision.ReceiveQueues(ctx, i.agent)
	if queues == 1 {
		return model + ", one queue", err
	}
	return fmt.Sprintf("%s, %d queues", model, queues), err
}

// Sees describes the processors and memory that the VM sees now, and what its disk is in a cluster or over a fabric.
func (m *machine) Sees(ctx context.Context) (all []platform.Fact, err error) {
	i, err := m.instance(ctx)
	if err != nil {
		return nil, err
	}
	v, err := i.topology(ctx)
	for _, r := range v.Rows() {
		all = append(all, platform.Fact{Name: r.Name, Value: r.Value})
	}
	if i.from != nil {
		all = append(all, platform.Fact{Name: "Disk", Value: i.from.String()})
	}
	if err != nil || i.image == (hardware.Image{}) {
		return all, err
	}
	m.mu.Lock()
	process := i.qemu.Load().Inspect()
	m.mu.Unlock()
	disk, err := process.Drive(ctx, spec.DataDisk)
	return append(all, platform.Fact{Name: "Disk", Value: "image " + disk.Image}), err
}

// Caution warns if figures of the VM do not represent hardware virtualisation.
func (m *machine) Caution(ctx context.Context) (string, error) {
	i, err := m.instance(ctx)
	var all []string
	switch {
	case err != nil:
		return "", err
	case i.spec.VirtualTime > 0:
		all = append(all, "virtual time: the guest's clock counts instructions; nothing here is a speed of any machine")
	case m.Accelerator() == hardware.TCG:
		all = append(all, "no KVM: QEMU interprets every instruction of the guest; read shapes and not speeds")
	}
	if i.from != nil && i.from.soft {
		all = append(all, spec.SoftRoCE)
	}
	return strings.Join(all, "; "), nil
}

// Given is the CPU time that this host gave to the VM since it booted.
func (m *machine) Given(ctx context.Context) (g platform.GuestUsage, err error) {
	i, err := m.instance(ctx)
	if err != nil {
		return g, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return i.given(ctx)
}

// Process is the QEMU that runs the VM now.
func (m *machine) Process(ctx context.Context) (pid int, err error) {
	i, err := m.instance(ctx)
	if err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if far := i.qemu.Load().Far(); far != nil {
		return 0, fmt.Errorf("%s is on host %s since its failover", described(m.Name()), far.Host().Machine.Name())
	}
	return i.qemu.Load().PID(), nil
}

// given sums the CPU time of all processes that have run the VM since it booted.
func (i *instance) given(ctx context.Context) (g platform.GuestUsage, err error) {
	if i.qemu.Load().Far() != nil {
		return platform.GuestUsage{Elsewhere: true, Exits: -1, Checkpoints: i.checkpoints()}, nil
	}
	u, err := i.qemu.Load().Inspect().Usage(ctx)
	if err != nil {
		return g, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	g.Run, g.Ready, g.Others = i.past.Run, i.past.Ready, i.past.Others
	for _, t := range u.VCPUs {
		g.Run, g.Ready = g.Run+t.Run, g.Ready+t.Wait
	}
	for _, t := range u.Others {
		g.Others += t.Run
	}
	if i.disk != nil {
		used, err := i.disk.CPUTime()
		if err != nil {
			return g, err
		}
		g.Others += used
	}
	used, err := i.from.used(ctx)
	if err != nil {
		return g, err
	}
	g.Others += used
	if g.Exits = -1; u.Exits != nil {
		g.Exits = max(0, i.past.Exits) + *u.Exits
	}
	if forced, counted := coresched.ForcedBy(i.qemu.Load().PID()); counted {
		if i.past.ForcedIdle != nil {
			forced += *i.past.ForcedIdle
		}
		g.ForcedIdle = &forced
	}
	i.seen = g
	g.Checkpoints, g.VirtualTime = i.checkpoints(), i.spec.VirtualTime > 0
	return g, nil
}
