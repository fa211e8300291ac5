package vsphere

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"plimsoll/internal/agent/optical"
	"plimsoll/internal/agent/remote"
	"plimsoll/internal/agent/tether"
	"plimsoll/internal/guest/layout"
	"plimsoll/internal/guest/provision"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/vsphere/appliance"
)

// slot is the place of a VM in the testbed, from the first boot to the last.
type slot struct {
	bed    *testbed
	number int // from 1
	host   string
	vm     *appliance.VM // nil before the first boot
}

// instance is a VM from boot to power-off.
type instance struct {
	spec    spec.Guest // that it was booted with
	claims  spec.Claims
	agent   *remote.Machine
	address string
	boot    time.Duration
}

// shapeOf is the virtual hardware of the settings.
func shapeOf(g spec.Guest, c spec.Claims) (appliance.Shape, error) {
	shape, err := g.Shape("guest")
	if err != nil {
		return appliance.Shape{}, err
	}
	return appliance.Shape{
		CPUs: g.VCPUs, Cores: layout.Of(shape.CPU).Cores, Nodes: max(1, g.Nodes), Memory: int64(g.Memory), Controller: g.Controller, Card: g.NIC,
		CPUReservation: int64(c.CPUReservation), CPUShares: c.CPUShares, MemoryReservation: int64(c.MemoryReservation), Latency: c.LatencySensitivity,
	}, nil
}

// boot clones the VM if there is none, gives it its shape, and starts it.
func (s *slot) boot(ctx context.Context, m *machine) (*instance, error) {
	i := &instance{spec: m.Spec(), claims: m.claims}
	shape, err := shapeOf(i.spec, i.claims)
	if err != nil {
		return nil, err
	}
	limit, cancel := context.WithTimeoutCause(ctx, time.Duration(i.spec.Boot), fmt.Errorf("it took more than %s", i.spec.Boot))
	defer cancel()
	if s.vm == nil {
		if err := s.clone(limit, m.Name()); err != nil {
			return nil, err
		}
	}
	if err := s.vm.Shape(limit, shape, int64(s.bed.settings.DiskSize)); err != nil {
		return nil, err
	}
	s.bed.lab.Reset(s.key()) // the agent may have connected again before the VM was powered off
	begun := time.Now()
	if err := s.vm.On(limit); err != nil {
		return nil, err
	}
	platform.LogStart(ctx, m.Name(), []string{"power on", s.vm.Name()})
	if err := i.join(limit, s, m.Confinement()); err != nil {
		return nil, errors.Join(err, s.cut(ctx))
	}
	i.boot = time.Since(begun)
	return i, nil
}

// clone makes the VM, with its ticket on a CD.
func (s *slot) clone(ctx context.Context, name string) error {
	base, err := s.bed.deployed(ctx)
	if err != nil {
		return err
	}
	t, err := s.bed.lab.Admit(s.key())
	if err != nil {
		return err
	}
	lab, err := netip.ParseAddr(s.bed.own)
	if err != nil {
		return err
	}
	t.Name, t.Lab = name, netip.AddrPortFrom(lab, uint16(s.bed.lab.Port())).String()
	if a := s.bed.settings.Addresses; len(a) > 0 {
		t.Address, t.Gateway = a[s.number-1], s.bed.settings.Gateway
	}
	text, err := t.Format()
	if err != nil {
		return err
	}
	cd, err := optical.Image(tether.File, text)
	if err != nil {
		return err
	}
	r := s.bed.record
	if s.vm, err = base.Clone(ctx, r.Prefix+s.key(), r.Mark, s.host); err != nil {
		return err
	}
	err = s.vm.Insert(ctx, cd)
	if err == nil && !s.bed.settings.DRS {
		err = s.vm.Stay(ctx)
	}
	if err != nil {
		return errors.Join(err, s.remove(ctx))
	}
	return nil
}

// key names the VM among those of the run.
func (s *slot) key() string { return fmt.Sprintf("vm-%d", s.number) }

// join waits for the agent, and mounts the disks.
func (i *instance) join(ctx context.Context, s *slot, confined platform.Confinement) error {
	awaited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go s.watch(awaited, cancel)
	conn, err := s.bed.lab.Await(awaited, s.key())
	if err != nil {
		return fmt.Errorf("%w; VM %s must reach %s from its network, and the firewall here must let it in", err, s.vm.Name(), s.bed.own)
	}
	if far, is := conn.RemoteAddr().(*net.TCPAddr); is {
		i.address = far.IP.String()
	}
	if i.agent, err = remote.Connect(ctx, conn); err != nil {
		return fmt.Errorf("connect to the agent in VM %s: %w", s.vm.Name(), err)
	}
	if confined != (platform.Confinement{}) {
		if err := i.agent.Confine(ctx, confined); err != nil {
			return fmt.Errorf("confine the VM's workers as before: %w", err)
		}
	}
	return s.bed.prepare(ctx, i.agent)
}

// Powered-off VMs are looked for after soonest, and then at intervals that double up to seldom.
const (
	soonest = 125 * time.Millisecond
	seldom  = 2 * time.Second
)

// watch ends the wait for an agent whose VM has powered off.
func (s *slot) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	for pause := soonest; ; pause = min(2*pause, seldom) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
			if off, err := s.vm.IsOff(ctx); err == nil && off {
				cancel(errors.New("the VM has powered off: look at its console"))
				return
			}
		}
	}
}

// grace is how long a guest may take to power off by itself.
const grace = 20 * time.Second

// stop powers the VM off.
func (s *slot) stop(ctx context.Context, i *instance) error {
	var asked error
	wait := time.Duration(0)
	if i.agent.Err() == nil {
		asked = errors.Join(provision.Unmount(ctx, i.agent, spec.Scratch), i.agent.End(ctx))
		wait = grace
	}
	return errors.Join(asked, s.vm.Off(ctx, wait))
}

// cut powers the VM off at once, even if everything else has failed.
func (s *slot) cut(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	return s.vm.Off(ctx, 0)
}

// remove removes the VM and its ticket.
func (s *slot) remove(ctx context.Context) error {
	if s.bed.lab != nil {
		s.bed.lab.Dismiss(s.key())
	}
	vm := s.vm
	if s.vm = nil; vm == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return vm.Remove(ctx)
}

// claimsOf are the claims of a shape.
func claimsOf(s appliance.Shape) spec.Claims {
	return spec.Claims{CPUReservation: int(s.CPUReservation), CPUShares: s.CPUShares, MemoryReservation: parameter.Bytes(s.MemoryReservation), LatencySensitivity: s.Latency}
}
