package qemu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"path/filepath"
	"time"

	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/outpost"
)

// Protected is a running guest with a standby: a QEMU that takes over at the last checkpoint of the guest's memory and devices. Gates hold
// back what the guest sends and writes after a checkpoint. It is not safe for concurrent use.
type Protected struct {
	primary, standby *Guest
	gates            []Gate
	memory           copier
	devices          []byte // their state at the last checkpoint
}

// Gate is a way by which something leaves a guest. After the first Mark it buffers what leaves the guest, until the checkpoint after it is
// committed.
type Gate interface {
	// Ready prepares a stop of the guest, which still runs. Where it succeeds, Resumed is called when the guest runs again.
	Ready(ctx context.Context) error
	Resumed()
	// Mark ends an epoch while the guest is stopped: the next Commit lets go what left the guest before. If the last epoch was not committed,
	// both are one.
	Mark(ctx context.Context) error
	Commit(ctx context.Context) error
}

// Checkpoint is the cost of a checkpoint.
type Checkpoint struct {
	Pause   time.Duration // from the order to stop the guest until it was told to go on
	Devices time.Duration // part of it: to read the state of the devices
	Search  time.Duration // part of it: to find the pages that changed, and to copy them
	Pages   int           // that changed since the last checkpoint
	State   int           // bytes of the state of the devices
	Held    time.Duration // from the begin until what had left the guest before went on
}

// contWait is how long a QEMU may take to let its guest go on.
const contWait = time.Second

// devicesFile is the descriptor in QEMU of the file for the state of its devices, after those of the monitor and the memory.
const devicesFile = 5

// Protect starts a standby for a running guest with shared memory, on another host or, if that is nil, on this one, and takes the first
// checkpoint. There must be a gate for all that leaves the guest.
func Protect(ctx context.Context, g *Guest, on *outpost.Host, gates ...Gate) (p *Protected, first Checkpoint, err error) {
	wrong := func(err error) error { return fmt.Errorf("protect guest %s: %w", g.Name(), err) }
	if err := protectable(g); err != nil {
		return nil, first, wrong(err)
	}
	o := g.options
	o.Incoming, o.On = true, on
	standby, err := Start(ctx, g.shape, o)
	if err != nil {
		return nil, first, wrong(err)
	}
	p = &Protected{primary: g, standby: standby, gates: gates}
	defer func() {
		if err != nil {
			err = errors.Join(wrong(err), p.End(ctx))
			p = nil
		}
	}()
	if p.memory, err = copies(ctx, g, standby); err != nil {
		return p, first, err
	}
	capabilities := map[string]any{"capabilities": []capability{{"events", true}, {"x-ignore-shared", true}}}
	if err := standby.monitor.Execute(ctx, "migrate-set-capabilities", capabilities, nil); err != nil {
		return p, first, err
	}
	if _, err := p.memory.Take(ctx); err != nil { // most of it, while the guest runs
		return p, first, err
	}
	if err := p.memory.Commit(ctx); err != nil {
		return p, first, err
	}
	first, err = p.Checkpoint(ctx)
	return p, first, err
}

// protectable is the reason why a guest cannot be protected.
func protectable(g *Guest) error {
	if !g.shape.Memory.Shared {
		return errors.New("its memory is not shared")
	}
	if len(g.shape.Persistent) > 0 {
		return errors.New("it has an NVDIMM, and no checkpoint buffers what it writes there")
	}
	for _, d := range g.shape.Disks {
		if !d.ReadOnly && d.Backing != hardware.BackingNBD {
			return fmt.Errorf("disk %s can be written without the NBD server, and no checkpoint holds writes back", d.Name)
		}
	}
	return nil
}

// Tracked reports whether the kernel's soft-dirty bits name the pages that changed. Otherwise all pages are compared.
func (p *Protected) Tracked() bool { return p.memory.Tracked() }

// Standby is the QEMU that waits.
func (p *Protected) Standby() *Guest { return p.standby }

// Answers reports whether the guest's QEMU answers within a second.
func (p *Protected) Answers(ctx context.Context) bool {
	limit, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return p.primary.monitor.Execute(limit, "query-status", nil, nil) == nil
}

// Checkpoint stops the guest, takes the state of its devices and the memory that changed, has it go on, and commits both. After an error
// the last checkpoint remains, and the guest goes on unless it has ended.
func (p *Protected) Checkpoint(ctx context.Context) (c Checkpoint, err error) {
	began := time.Now()
	devices, c, err := p.take(ctx)
	if err != nil {
		return c, fmt.Errorf("take a checkpoint of guest %s: %w", p.primary.Name(), err)
	}
	if err := p.memory.Commit(ctx); err != nil {
		return c, fmt.Errorf("commit a checkpoint of guest %s: %w", p.primary.Name(), err)
	}
	p.devices = devices
	for _, g := range p.gates {
		if err := g.Commit(ctx); err != nil {
			return c, fmt.Errorf("commit a checkpoint of guest %s: %w", p.primary.Name(), err)
		}
	}
	c.Held = time.Since(began)
	return c, nil
}

// take is the part of a checkpoint for which the guest is stopped.
func (p *Protected) take(ctx context.Context) (devices []byte, c Checkpoint, err error) {
	for _, g := range p.gates {
		if err := g.Ready(ctx); err != nil {
			return nil, c, err
		}
		defer g.Resumed()
	}
	m := p.primary.monitor
	began := time.Now()
	defer func() { // also if nobody waits for the answer to the order to stop
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), contWait)
		defer cancel()
		err = errors.Join(err, m.Execute(limit, "cont", nil, nil))
		c.Pause = time.Since(began)
	}()
	if err := m.Execute(ctx, "stop", nil, nil); err != nil {
		return nil, c, err
	}
	for _, g := range p.gates {
		if err := g.Mark(ctx); err != nil {
			return nil, c, err
		}
	}
	from := time.Now()
	if devices, err = readDevices(ctx, p.primary); err != nil {
		return nil, c, err
	}
	c.Devices, c.State = time.Since(from), len(devices)
	from = time.Now()
	c.Pages, err = p.memory.Take(ctx)
	c.Search = time.Since(from)
	return devices, c, err
}

// readDevices reads the state of the devices of a stopped guest. The command is that of Xen's tools, for any machine: a migration without
// memory starts a thread, waits for its events and takes several times as long.
func readDevices(ctx context.Context, g *Guest) ([]byte, error) {
	into := map[string]any{"filename": fmt.Sprintf("/proc/self/fd/%d", devicesFile), "live": false} // not to release the disks
	if err := g.monitor.Execute(ctx, "xen-save-devices-state", into, nil); err != nil {
		return nil, fmt.Errorf("read the state of the devices: %w", err)
	}
	if g.process.far != nil {
		return g.process.far.Devices(ctx)
	}
	return io.ReadAll(io.NewSectionReader(g.devices, 0, math.MaxInt64))
}

// Fence kills the guest, so that it never runs beside the standby.
func (p *Protected) Fence() { p.primary.Kill() }

// Failover fences the guest, and has the standby go on from the last checkpoint. The standby is the guest then; the former one must be stopped.
func (p *Protected) Failover(ctx context.Context) (*Guest, error) {
	p.Fence()
	g := p.standby
	p.standby = nil
	if err := errors.Join(p.memory.Close(), resume(ctx, g, p.devices)); err != nil {
		return nil, errors.Join(fmt.Errorf("fail over to the standby of guest %s: %w", p.primary.Name(), err), g.Stop(ctx))
	}
	g.wiring.Incoming = false
	return g, nil
}

// resume has a standby go on with such a state of its devices.
func resume(ctx context.Context, g *Guest, devices []byte) error {
	path := filepath.Join(g.wiring.Dir, "devices.sock")
	since := g.monitor.Mark()
	if err := g.monitor.Execute(ctx, "migrate-incoming", map[string]any{"uri": "unix:" + path}, nil); err != nil {
		return err
	}
	if err := feed(ctx, g, path, devices); err != nil {
		return err
	}
	if err := finished(ctx, g.monitor, since); err != nil {
		return err
	}
	return g.monitor.Execute(ctx, "cont", nil, nil)
}

// feed gives QEMU the state of its devices, for which it listens.
func feed(ctx context.Context, g *Guest, path string, devices []byte) error {
	if g.process.far != nil {
		return g.process.far.Feed(ctx, devices)
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return err
	}
	_, err = conn.Write(devices)
	return errors.Join(err, conn.Close())
}

// End ends the standby. The guest goes on without protection.
func (p *Protected) End(ctx context.Context) (err error) {
	if p.standby == nil {
		return nil
	}
	if p.memory != nil {
		err = p.memory.Close()
	}
	return errors.Join(err, p.standby.Stop(ctx))
}
