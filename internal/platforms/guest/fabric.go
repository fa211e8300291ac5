package guest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"plimsoll/internal/agent/remote"
	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/provision"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/platform"
)

// target is a VM that exports the disk of another over a fabric. It boots before that VM, and ends after it.
type target struct {
	fabric provision.Fabric
	spec   spec.Guest
	qemu   *qemu.Guest
	agent  *remote.Machine
	device string // for RDMA
	soft   bool   // that device is software
}

// fabricTargets is added to the number of a VM for that of its target, from which its address follows.
const fabricTargets = mostGuests

// export boots the target of a VM with its disk, which the VM's shape then does not have; nil without a fabric.
func (s *slot) export(ctx context.Context, g spec.Guest, o qemu.Options, shape *hardware.Shape) (t *target, err error) {
	if !g.OverFabric() {
		return nil, nil
	}
	n := slices.IndexFunc(shape.Disks, func(d hardware.Disk) bool { return d.Name == spec.DataDisk })
	disk, number := shape.Disks[n], s.number+fabricTargets
	shape.Disks = slices.Delete(shape.Disks, n, n+1)
	t = &target{spec: g.Target(), fabric: provision.Fabric{Transport: g.Fabric, Address: addressOf(number)}}
	its, err := t.spec.Shape(fmt.Sprintf("target-%d", s.number))
	if err != nil {
		return nil, err
	}
	its.Disks, its.Parameters = append(its.Disks, disk), append([]string{named(its.Name)}, its.Parameters...)
	if s.targetPlug == nil {
		if s.targetPlug, err = s.bed.network.Plug(ctx, its.Name, s.home.File("target.sock")); err != nil {
			return nil, err
		}
	}
	addCard(&its, t.spec, s.targetPlug, number)
	if t.qemu, err = qemu.Start(ctx, its, o); err != nil {
		return nil, fmt.Errorf("boot the guest that exports the disk: %w", err)
	}
	platform.LogStart(ctx, its.Name, append([]string{qemu.Binary}, t.qemu.Facts().Arguments...))
	if err := t.serve(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("guest that exports the disk: %w", err), t.stop(ctx))
	}
	return t, nil
}

// serve connects to the agent of a target and exports the disk.
func (t *target) serve(ctx context.Context) error {
	conn, err := t.qemu.Channel(ctx)
	if err != nil {
		return err
	}
	if t.agent, err = remote.Connect(ctx, conn); err != nil {
		return errors.Join(err, conn.Close())
	}
	if t.fabric.Transport == spec.OverRDMA {
		if t.device, t.soft, err = provision.RDMADevice(ctx, t.agent, t.fabric.Address); err != nil {
			return err
		}
	}
	return provision.Export(ctx, t.agent, t.fabric, int64(t.spec.DiskSize))
}

// attach makes the disk of a target that of the VM whose agent is given.
func (t *target) attach(ctx context.Context, agent *remote.Machine, own netip.Addr) error {
	if t.fabric.Transport == spec.OverRDMA {
		if _, _, err := provision.RDMADevice(ctx, agent, own); err != nil {
			return err
		}
	}
	return provision.Attach(ctx, agent, t.fabric, int64(t.spec.DiskSize))
}

// stop powers a target off.
func (t *target) stop(ctx context.Context) error {
	if t == nil {
		return nil
	}
	var asked error
	if t.agent != nil && t.gone() == nil {
		asked = t.agent.End(ctx)
	}
	return errors.Join(asked, t.qemu.Stop(ctx))
}

// gone is why a target does not run any more.
func (t *target) gone() error {
	if t == nil {
		return nil
	}
	if err := errors.Join(t.agent.Err(), t.qemu.Err()); err != nil {
		return fmt.Errorf("the guest that exports its disk: %w", err)
	}
	return nil
}

// used is the CPU time that this host gave to a target since it booted.
func (t *target) used(ctx context.Context) (sum time.Duration, err error) {
	if t == nil {
		return 0, nil
	}
	u, err := t.qemu.Inspect().Usage(ctx)
	for _, thread := range slices.Concat(u.VCPUs, u.Others) {
		sum += thread.Run
	}
	return sum, err
}

// running describes a target to factors; nil if there is none.
func (t *target) running(server spec.DiskServer) *spec.Running {
	if t == nil {
		return nil
	}
	process := t.qemu.Inspect()
	return &spec.Running{Agent: t.agent, Spec: t.spec, QEMU: &process, Disk: server, Protection: spec.Unset}
}

// String describes the fabric.
func (t *target) String() string {
	text := fmt.Sprintf("NVMe over %s from a guest at %s with %d vCPU", t.fabric.Transport, t.fabric.Address, t.spec.VCPUs)
	switch {
	case t.soft:
		return text + ", by soft-RoCE (" + t.device + ")"
	case t.device != "":
		return text + ", by " + t.device
	}
	return text
}
