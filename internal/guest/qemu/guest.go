// Package qemu starts, migrates and stops VMs under QEMU.
//
// All files of a VM are in one private folder, and QEMU ends with its parent process. The
// existence of /dev/kvm proves nothing, so the accelerator is found by booting.
package qemu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/inspect"
	"plimsoll/internal/guest/kernel"
	"plimsoll/internal/guest/outpost"
	"plimsoll/internal/guest/pages"
	"plimsoll/internal/guest/qmp"
)

// Options are the options of a start.
type Options struct {
	Kernel      *kernel.Kernel
	Initramfs   string               // a file; its init opens the virtio port named Port
	Dir         string               // scratch folder, in which the guest gets a subfolder
	Binary      string               // QEMU binary; empty for the one in PATH
	Accelerator hardware.Accelerator // see Probe
	// BootTimeout is the time limit of a boot until the guest opens its port; 0 is 20 s, plus
	// 2 s for each vCPU after the first. After a timeout the guest is started once more, which
	// its Boot reports.
	BootTimeout time.Duration
	// Incoming starts a guest that waits for an incoming migration.
	Incoming bool
	// On is another host to start it on; nil for this one.
	On *outpost.Host
}

// Guest is a running guest.
type Guest struct {
	shape   hardware.Shape // arranged
	facts   Facts
	options Options
	wiring  hardware.Wiring

	process         *process
	monitor         *qmp.Monitor
	memory, devices *os.File // files that QEMU shares: its memory, and the state of its devices when asked for; nil unless memory is shared

	snapshots sync.Mutex // one at a time

	killed   atomic.Bool
	stopping sync.Once
	stopped  error
}

// Facts describe a guest in reports.
type Facts struct {
	Version   hardware.Version // of QEMU
	Arguments []string         // of QEMU
	Kernel    string           // its release and digest
	Boot      Boot
}

// Boot describes the boot of a guest.
type Boot struct {
	Seconds float64  // from the start of QEMU until the guest opened its port
	Failed  []string // errors of earlier attempts
}

// Start starts a guest and waits until it has opened its control channel. An error leaves
// nothing behind.
func Start(ctx context.Context, s hardware.Shape, o Options) (*Guest, error) {
	if o.Kernel == nil || o.Initramfs == "" || o.Dir == "" {
		return nil, fmt.Errorf("boot %s: a kernel, an initramfs and a folder are required", s.Name)
	}
	binary, version, err := find(ctx, o.Binary)
	if err != nil {
		return nil, fmt.Errorf("boot %s: %w", s.Name, err)
	}
	o.Binary = binary
	if o.Accelerator != hardware.KVM && o.Accelerator != hardware.TCG {
		return nil, fmt.Errorf("boot %s: accelerator %q is unknown: use kvm or tcg", s.Name, o.Accelerator)
	}
	w, err := hardware.OnThisHost(hardware.Wiring{Accelerator: o.Accelerator, Version: version, Kernel: o.Kernel.Image, Initramfs: o.Initramfs, Incoming: o.Incoming, Dir: o.Dir})
	if err == nil {
		err = s.Check(w)
	}
	if err != nil {
		return nil, err
	}
	if o.On != nil {
		return startFar(ctx, s, w, o)
	}
	g := &Guest{options: o, wiring: w, facts: Facts{Version: version, Kernel: o.Kernel.Version + " " + o.Kernel.Digest}}
	if err := g.begin(ctx, s); err != nil {
		return nil, errors.Join(fmt.Errorf("boot %s: %w", s.Name, err), g.clear())
	}
	return g, nil
}

func (g *Guest) begin(ctx context.Context, s hardware.Shape) error {
	dir, err := os.MkdirTemp(g.options.Dir, "guest-"+s.Name+"-")
	if err != nil {
		return err
	}
	g.wiring.Dir = dir
	args, err := s.Args(g.wiring)
	if err != nil {
		return err
	}
	if g.shape, err = s.Arrange(g.wiring.Host); err != nil {
		return err
	}
	if err := s.Memory.CheckHugePages(os.ReadFile); err != nil {
		return err
	}
	g.facts.Arguments = args
	if err := makeFiles(g.shape, g.wiring); err != nil {
		return err
	}
	const attempts = 2
	for n := 1; ; n++ {
		late, err := g.boot(ctx)
		if err == nil {
			break
		}
		if !late || n == attempts || ctx.Err() != nil {
			return err
		}
		g.facts.Boot.Failed = append(g.facts.Boot.Failed, err.Error())
		if err := errors.Join(g.clearProcess(), g.forgetSockets()); err != nil {
			return err
		}
	}
	return g.Inspect().Pin(ctx, g.shape.Pin)
}

// boot is one attempt. After a timeout, a second one may succeed.
func (g *Guest) boot(ctx context.Context) (late bool, err error) {
	begun := time.Now()
	conn, theirs, err := monitorPair()
	if err != nil {
		return false, err
	}
	given := []*os.File{theirs}
	if g.shape.Memory.Shared {
		g.memory, err = pages.NewMemory(g.shape.Memory.Size)
		if err == nil {
			g.devices, err = pages.NewMemory(0)
		}
		if err != nil {
			return false, errors.Join(err, conn.Close(), theirs.Close())
		}
		given = append(given, g.memory, g.devices)
	}
	g.process, err = launch(g.options.Binary, g.facts.Arguments, &log{}, given...)
	err = errors.Join(err, theirs.Close())
	if err != nil {
		return false, errors.Join(err, conn.Close())
	}
	limit, cancel := context.WithTimeout(ctx, g.bootTimeout())
	defer cancel()
	if g.monitor, err = qmp.New(limit, conn); err == nil && !g.wiring.Incoming {
		_, _, err = g.monitor.Await(limit, 0, portOpened)
	}
	if err == nil {
		g.facts.Boot.Seconds = time.Since(begun).Seconds()
		return false, nil
	}
	if late = limit.Err() != nil; late {
		return late, fmt.Errorf("the guest did not open its channel in %v: %s", time.Since(begun).Round(time.Millisecond), g.process.complaint())
	}
	g.process.wait(limit)
	return late, fmt.Errorf("QEMU ended while the guest booted (%s): %s", g.process.how(), g.process.complaint())
}

func (g *Guest) bootTimeout() time.Duration {
	if g.options.BootTimeout > 0 {
		return g.options.BootTimeout
	}
	return 20*time.Second + time.Duration(g.shape.CPU.Count-1)*2*time.Second
}

func portOpened(e qmp.Event) bool {
	var d struct {
		ID   string `json:"id"`
		Open bool   `json:"open"`
	}
	return e.Name == "VSERPORT_CHANGE" && json.Unmarshal(e.Data, &d) == nil && d.Open && d.ID == "port0"
}

// Err is nil while QEMU runs; afterwards it holds the exit status and the last output.
func (g *Guest) Err() error {
	select {
	case <-g.process.ended:
		return fmt.Errorf("guest %s has ended (%s): %s", g.Name(), g.process.how(), g.process.complaint())
	default:
		return nil
	}
}

// Ended is closed when QEMU has ended.
func (g *Guest) Ended() <-chan struct{} { return g.process.ended }

// Name is the name of the shape.
func (g *Guest) Name() string { return g.shape.Name }

// Shape is the guest's virtual hardware, with an explicit topology.
func (g *Guest) Shape() hardware.Shape { return g.shape }

// Facts describe the guest in reports.
func (g *Guest) Facts() Facts {
	f := g.facts
	f.Boot.Failed = slices.Clone(f.Boot.Failed)
	return f
}

// Inspect reads the actual hardware of the VM from QEMU and from the host's kernel.
func (g *Guest) Inspect() inspect.Process {
	p := inspect.Process{Name: g.Name(), PID: g.PID(), Monitor: g.monitor, Memory: g.shape.Memory.Size}
	for _, d := range g.shape.Disks {
		p.Disks = append(p.Disks, d.Name)
	}
	return p
}

// PID is the process id of QEMU on this host; 0 on another.
func (g *Guest) PID() int {
	if g.process.far != nil {
		return 0
	}
	return g.process.cmd.Process.Pid
}

// Far is QEMU on another host; nil on this one.
func (g *Guest) Far() *outpost.QEMU { return g.process.far }

// Console is the output of the guest's kernel: head, tail, and the number of bytes omitted
// between them.
func (g *Guest) Console() []byte { return g.process.console.bytes() }

// Complaints is QEMU's output; CPU features that TCG lacks are only counted.
func (g *Guest) Complaints() (text string, features int) {
	return string(g.process.errors.bytes()), g.process.errors.features()
}

// Channel dials the control channel, the guest's virtio port. It serves one connection at a
// time.
func (g *Guest) Channel(ctx context.Context) (net.Conn, error) {
	if g.process.far != nil {
		return g.process.far.Channel(ctx)
	}
	path := g.wiring.Channel()
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "unix", path)
		if err == nil {
			return conn, nil
		}
		again := time.NewTimer(wait)
		select {
		case <-again.C:
		case <-g.process.ended:
			again.Stop()
			return nil, fmt.Errorf("dial its channel: %w", g.Err())
		case <-ctx.Done():
			again.Stop()
			return nil, fmt.Errorf("dial the channel of guest %s: %w", g.Name(), errors.Join(ctx.Err(), err))
		}
	}
}
