package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"sync"
	"sync/atomic"

	"plimsoll/internal/agent/remote"
	"plimsoll/internal/guest/coresched"
	"plimsoll/internal/guest/diskserver"
	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/inspect"
	"plimsoll/internal/guest/protection"
	"plimsoll/internal/guest/provision"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/guest/relay"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/platform"
)

// instance is a VM from boot to power-off, in whatever process it runs.
type instance struct {
	spec  spec.Guest                 // that it was booted with
	image hardware.Image             // its disk; empty for a file
	qemu  atomic.Pointer[qemu.Guest] // changes when it migrates, or its standby takes over
	disk  *diskserver.Server         // nil where QEMU opens the file itself
	from  *target                    // nil where it has the disk on a controller
	own   netip.Addr                 // its address in the network
	relay *relay.Relay               // nil if it is protected
	agent *remote.Machine

	guarded    *relay.Guarded // its channel, if it is protected
	protection *protection.Protection

	mu   sync.Mutex          // guards the fields below
	past platform.GuestUsage // by processes that it was in before
	seen platform.GuestUsage // as read last
}

// serveDisk starts the server of the disk, where the settings have one.
func (i *instance) serveDisk(ctx context.Context, s *slot) error {
	r, err := spec.ParseRoute(i.spec.IOFilter)
	if err == nil {
		every, _ := i.spec.Checkpoints()
		i.disk, err = diskserver.Start(ctx, s.bed.supply.Agent, diskserver.Disk{Route: r, Epochs: every > 0, Socket: s.home.File(spec.DiskSocket), File: s.home.File(spec.DataImage)})
	}
	return err
}

// start starts QEMU, and before that the target that has the disk, where the settings have one.
func (i *instance) start(ctx context.Context, s *slot, o qemu.Options, shape hardware.Shape) (err error) {
	i.own = addressOf(s.number)
	if i.from, err = s.export(ctx, i.spec, o, &shape); err != nil {
		return err
	}
	process, err := qemu.Start(ctx, shape, o)
	if err != nil {
		return errors.Join(err, i.from.stop(ctx))
	}
	i.qemu.Store(process)
	return nil
}

// join connects to the agent, places the vCPUs and mounts the disks.
func (i *instance) join(ctx context.Context, confined platform.Confinement, programs hardware.Disk) error {
	conn, err := i.qemu.Load().Channel(ctx)
	if err != nil {
		return err
	}
	var channel io.ReadWriteCloser
	if every, _ := i.spec.Checkpoints(); every > 0 {
		i.guarded = relay.Guard(conn)
		channel = i.guarded
	} else {
		i.relay = relay.New(conn)
		channel = i.relay
	}
	if i.agent, err = remote.Connect(ctx, channel); err != nil {
		return errors.Join(fmt.Errorf("connect to the agent in the guest: %w", err), conn.Close())
	}
	if confined != (platform.Confinement{}) {
		if err := i.agent.Confine(ctx, confined); err != nil {
			return fmt.Errorf("confine the guest's workers as before: %w", err)
		}
	}
	if err := errors.Join(i.schedule(ctx), i.mount(ctx)); err != nil || programs.Path == "" {
		return err
	}
	return provision.MountPrograms(ctx, i.agent, programs.Size)
}

// schedule gives the threads of QEMU their policy for cores, and those of the vCPUs their scheduling policy.
func (i *instance) schedule(ctx context.Context) error {
	sharing, err := coresched.Parse(i.spec.Sharing)
	if err == nil {
		err = sharing.Apply(i.qemu.Load().PID())
	}
	if err != nil || i.spec.Scheduler == "" {
		return err
	}
	s, err := inspect.ParseScheduling(i.spec.Scheduler)
	if err != nil {
		return err
	}
	return i.qemu.Load().Inspect().Schedule(ctx, s)
}

// mount mounts what workloads write to. Where there are a disk and an NVDIMM, a study that
// has made its folder on one of them finds it on the other as well.
func (i *instance) mount(ctx context.Context) (err error) {
	if i.spec.Storage == spec.OnPmem || i.spec.Storage == spec.OnDAX {
		err = provision.MountPmem(ctx, i.agent, spec.Scratch, i.spec.Storage == spec.OnDAX)
	} else {
		if i.from != nil {
			if err := i.from.attach(ctx, i.agent, i.own); err != nil {
				return err
			}
		}
		err = provision.Mount(ctx, i.agent, int64(i.spec.DiskSize), spec.Scratch)
	}
	if err != nil || i.spec.Pmem == 0 {
		return err
	}
	return provision.Do(ctx, i.agent, "mkdir", "-p", "--", studyFolder)
}

// stop powers the VM off.
func (i *instance) stop(ctx context.Context) error {
	var asked error
	if i.protection != nil {
		asked = i.protection.End(ctx)
	}
	if i.agent != nil && !i.qemu.Load().Killed() {
		if i.from.gone() == nil {
			asked = errors.Join(asked, provision.Unmount(ctx, i.agent, spec.Scratch), i.detach(ctx))
		}
		asked = errors.Join(asked, i.agent.End(ctx))
	}
	err := errors.Join(i.qemu.Load().Stop(ctx), i.from.stop(ctx))
	i.stopServer()
	return errors.Join(asked, err)
}

// detach removes the disk of a target.
func (i *instance) detach(ctx context.Context) error {
	if i.from == nil {
		return nil
	}
	return provision.Detach(ctx, i.agent)
}

// stopServer ends the server of the disk, whose client is gone.
func (i *instance) stopServer() {
	if i.disk != nil {
		i.disk.Stop()
	}
}
