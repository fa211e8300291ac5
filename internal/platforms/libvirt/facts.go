package libvirt

import (
	"context"
	"fmt"
	"os"
	"time"

	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/layout"
	"plimsoll/internal/guest/view"
	"plimsoll/internal/libvirt"
	"plimsoll/internal/platform"
)

const interpreted = "no KVM: QEMU interprets every instruction of the guest; read shapes and not speeds"

// versions are the releases of the daemon and of its hypervisor.
func versions(ctx context.Context, c *libvirt.Conn, uri string) ([]platform.Fact, error) {
	daemon, err := c.LibraryVersion(ctx)
	if err != nil {
		return nil, err
	}
	hypervisor, err := c.HypervisorVersion(ctx)
	if err != nil {
		return nil, err
	}
	return []platform.Fact{
		{Name: "libvirt.uri", Value: uri}, {Name: "libvirt.version", Value: daemon.String()}, {Name: "guest.qemu", Value: hypervisor.String()},
	}, nil
}

// Facts describe the guest's host.
func (m *machine) Facts(ctx context.Context) ([]platform.Fact, error) {
	r, err := m.up(ctx)
	if err != nil {
		return nil, err
	}
	v, err := view.Read(func(name string) ([]byte, error) { return r.far.ReadFile(ctx, name) })
	if err != nil {
		return nil, err
	}
	facts, err := versions(ctx, r.conn, m.bed.settings.URI)
	if err != nil {
		return nil, err
	}
	facts = append(facts,
		platform.Fact{Name: "libvirt.domain", Value: r.domain.Name},
		platform.Fact{Name: "guest.accelerator", Value: fmt.Sprintf("%s: %s", r.chosen.Accelerator, r.chosen.Why)},
		platform.Fact{Name: "guest.kernel", Value: m.bed.files.supply.Kernel.Version + " " + m.bed.files.supply.Kernel.Digest},
		platform.Fact{Name: "guest.processors", Value: layout.Seen(v).String()},
		platform.Fact{Name: "guest.boot", Value: fmt.Sprintf("%.2f s", r.boot.Seconds())},
	)
	for _, why := range r.failed {
		facts = append(facts, platform.Fact{Name: "guest.boot.retried", Value: why})
	}
	return facts, nil
}

// Caution warns if figures of the VM do not represent hardware virtualisation.
func (m *machine) Caution(ctx context.Context) (string, error) {
	r, err := m.up(ctx)
	if err == nil && r.chosen.Accelerator == hardware.TCG {
		return interpreted, nil
	}
	return "", err
}

// Given is the CPU time that the daemon's host gave to the VM since it booted.
func (m *machine) Given(ctx context.Context) (g platform.GuestUsage, err error) {
	r, err := m.up(ctx)
	if err != nil {
		return g, err
	}
	return given(ctx, r.conn, r.domain)
}

// Process is the QEMU of the VM.
func (m *machine) Process(ctx context.Context) (pid int, err error) {
	r, err := m.up(ctx)
	if err != nil {
		return 0, err
	}
	return processOf(os.DirFS("/proc"), r.domain)
}

// Facts describe the domain and its host.
func (m *resident) Facts(ctx context.Context) ([]platform.Fact, error) {
	if _, err := m.Up(ctx); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	facts, err := versions(ctx, m.conn, m.settings.URI)
	if err != nil {
		return nil, err
	}
	facts = append(facts, platform.Fact{Name: "libvirt.domain", Value: m.Name()}, platform.Fact{Name: "guest.accelerator", Value: m.shape.Type},
		platform.Fact{Name: "guest.vcpus", Value: fmt.Sprint(m.shape.VCPUs)})
	if t := m.shape.Topology; t.Sockets > 0 {
		l := layout.Layout{Sockets: t.Sockets, Dies: max(1, t.Dies), Cores: t.Cores, Threads: t.Threads}
		facts = append(facts, platform.Fact{Name: "guest.processors", Value: l.String()})
	}
	if n := len(m.shape.Cells); n > 0 {
		facts = append(facts, platform.Fact{Name: "guest.nodes", Value: fmt.Sprint(n)})
	}
	return facts, nil
}

// Caution is said where the domain does not run on the processor.
func (m *resident) Caution(ctx context.Context) (string, error) {
	if _, err := m.Up(ctx); err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shape.Type == "qemu" {
		return interpreted, nil
	}
	return "", nil
}

// Given is the CPU time that the daemon's host gave to the domain since its start.
func (m *resident) Given(ctx context.Context) (g platform.GuestUsage, err error) {
	if _, err := m.Up(ctx); err != nil {
		return g, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return given(ctx, m.conn, m.domain)
}

// Process is the QEMU of the domain, if the domain is on this host.
func (m *resident) Process(ctx context.Context) (pid int, err error) {
	if _, err := m.Up(ctx); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return processOf(os.DirFS("/proc"), m.domain)
}

// given reads the daemon's statistics of a domain's threads. Daemons before 8.0 do not
// report the wait time of vCPUs; none reports exits.
func given(ctx context.Context, c *libvirt.Conn, d libvirt.Domain) (g platform.GuestUsage, err error) {
	s, err := c.Statistics(ctx, d, libvirt.CPUStatistics|libvirt.VCPUStatistics)
	if err != nil {
		return g, err
	}
	g.Exits = -1
	for n := range int(s["vcpu.maximum"]) {
		g.Run += time.Duration(s[fmt.Sprintf("vcpu.%d.time", n)])
		ready, told := s[fmt.Sprintf("vcpu.%d.delay", n)]
		if !told {
			ready = s[fmt.Sprintf("vcpu.%d.wait", n)]
		}
		g.Ready += time.Duration(ready)
	}
	g.Others = max(0, time.Duration(s["cpu.time"])-g.Run)
	return g, nil
}
