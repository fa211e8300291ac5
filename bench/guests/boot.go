// Package guests measures what guests cost: their boots, their idleness, and checkpoints of their memory.
package guests

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"plimsoll/bench/measured"
	"plimsoll/internal/agent/remote"
	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/initramfs"
	"plimsoll/internal/guest/kernel"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/platform"
)

// Guests boot this often, each init in turn, and so many stand idle at once.
const (
	guestBoots = 7
	idleGuests = 16
	guestLimit = 2 * time.Minute // of one boot, on a machine that others use
)

// program is an init with the archive that it boots from.
type program struct {
	name    string
	source  string // package
	modules []string
	files   map[string]string // further files in its archive
	archive string
	bytes   int64
	// joined waits until the init has answered, and returns the connection.
	joined func(ctx context.Context, g *qemu.Guest) (io.Closer, error)
	times  []float64
}

// Booting has an init that only answers and plimsoll's agent boot in turn, of the same
// kernel under the same QEMU, and then has many stand idle.
func Booting() ([]measured.Result, error) {
	if _, err := exec.LookPath(qemu.Binary); err != nil {
		return nil, errors.New("QEMU is not installed: run ./setup test")
	}
	k, dir, err := place()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	bare := bareInit()
	agent := &program{name: "agent", source: agentSource, modules: []string{"channel"}, joined: joins}
	whole := &program{name: "platform", source: agentSource, modules: []string{"channel", "ext4", "virtio_blk"}, joined: joins}
	all := []*program{bare, agent, whole}
	for _, p := range all {
		if err := p.build(dir, k); err != nil {
			return nil, err
		}
	}
	for range guestBoots {
		for _, p := range all {
			took, err := p.boot(dir, k)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
			p.times = append(p.times, took)
		}
	}
	idle, err := idling(dir, k, agent)
	return append([]measured.Result{
		{What: "boot to a joined agent", Got: measured.Middle(agent.times), Against: "bare init", Limit: measured.Middle(bare.times), Unit: "s"},
		{What: "boot to a joined agent, with the modules of platform guest", Got: measured.Middle(whole.times), Against: "bare init", Limit: measured.Middle(bare.times), Unit: "s"},
		{What: "initramfs with the agent alone", Got: float64(agent.bytes) / 1e6, Against: "limit", Limit: 10, Unit: "MB"},
		{What: "initramfs with the modules of platform guest", Got: float64(whole.bytes) / 1e6, Against: "limit", Limit: 10, Unit: "MB"},
	}, idle...), err
}

// place is the kernel of guests, and a new folder for them, whose path is short, for sockets.
func place() (k *kernel.Kernel, dir string, err error) {
	cache, err := kernel.Folder()
	if err != nil {
		return nil, "", err
	}
	if k, err = kernel.Find(cache); err != nil {
		return nil, "", err
	}
	dir, err = os.MkdirTemp("", "pb-")
	return k, dir, err
}

// bareInit only answers, and writes memory when it is asked to.
func bareInit() *program {
	return &program{name: "bare", source: "./internal/guest/qemu/testdata/init", modules: []string{"channel"}, joined: answers}
}

// agentSource is the package of the agent, which make builds for size.
const agentSource = "./cmd/plimsoll-agent"

func (p *program) build(dir string, k *kernel.Kernel) error {
	binary := filepath.Join(dir, p.name)
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, p.source)
	if p.source == agentSource { // as users have it
		build, binary = exec.Command("make", "-s", "build"), "plimsoll-agent"
	}
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", p.source, err, out)
	}
	p.archive = filepath.Join(dir, p.name+".cpio")
	f, err := os.Create(p.archive)
	if err != nil {
		return err
	}
	if err := errors.Join(initramfs.Build(f, initramfs.Spec{Init: binary, Kernel: k, Modules: p.modules, Files: p.files}), f.Close()); err != nil {
		return err
	}
	info, err := os.Stat(p.archive)
	if err == nil {
		p.bytes = info.Size()
	}
	return err
}

// start boots a guest, until its init has answered. It stays connected, as to a lab.
func (p *program) start(ctx context.Context, dir string, k *kernel.Kernel) (*connected, error) {
	g, err := qemu.Start(ctx, hardware.Shape{Name: "bench", CPU: hardware.CPU{Count: 1}, Memory: hardware.Memory{Size: 256 << 20}}, qemu.Options{
		Kernel: k, Initramfs: p.archive, Dir: dir, BootTimeout: guestLimit, Accelerator: hardware.TCG,
	})
	if err != nil {
		return nil, err
	}
	conn, err := p.joined(ctx, g)
	if err != nil {
		return nil, errors.Join(err, g.Stop(ctx))
	}
	return &connected{g, conn}, nil
}

// connected is a guest with a connection to its init.
type connected struct {
	*qemu.Guest
	conn io.Closer
}

func (c *connected) stop(ctx context.Context) error { return errors.Join(c.conn.Close(), c.Stop(ctx)) }

// boot is the time from the start of QEMU until the init has answered.
func (p *program) boot(dir string, k *kernel.Kernel) (float64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*guestLimit)
	defer cancel()
	begun := time.Now()
	g, err := p.start(ctx, dir, k)
	if err != nil {
		return 0, err
	}
	took := time.Since(begun).Seconds()
	if failed := g.Facts().Boot.Failed; len(failed) > 0 {
		err = fmt.Errorf("a boot was given up: %s", failed[0])
	}
	return took, errors.Join(err, g.stop(ctx))
}

// answers asks the bare init for a file.
func answers(ctx context.Context, g *qemu.Guest) (io.Closer, error) {
	conn, err := g.Channel(ctx)
	if err != nil {
		return nil, err
	}
	if _, err = fmt.Fprintln(conn, "read /proc/version"); err == nil {
		if err = conn.SetReadDeadline(time.Now().Add(guestLimit)); err == nil {
			_, err = conn.Read(make([]byte, 64))
		}
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// joins connects to the agent.
func joins(ctx context.Context, g *qemu.Guest) (io.Closer, error) { return agentOf(ctx, g) }

// agentOf is the agent of a guest, as the platform has it.
func agentOf(ctx context.Context, g *qemu.Guest) (*remote.Machine, error) {
	conn, err := g.Channel(ctx)
	if err != nil {
		return nil, err
	}
	far, err := remote.Connect(ctx, conn)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return far, nil
}

// runInGuest boots a guest and runs a program in it. If the guest dies, the error has the end of its console.
func runInGuest(ctx context.Context, shape hardware.Shape, o qemu.Options, argv []string) (r platform.Result, err error) {
	g, err := qemu.Start(ctx, shape, o)
	if err != nil {
		return r, err
	}
	defer g.Stop(ctx) //nolint:errcheck // the results are there
	far, err := agentOf(ctx, g)
	if err != nil {
		return r, err
	}
	defer far.Close() //nolint:errcheck // the results are there
	if r, err = far.Run(ctx, platform.Command{Argv: argv}); err != nil {
		console := bytes.TrimSpace(g.Console())
		return r, fmt.Errorf("%w; the console says: %s", err, console[max(0, len(console)-2000):])
	}
	if r.Exit != 0 {
		err = fmt.Errorf("%s in the guest ended with %d: %s%s", argv[0], r.Exit, r.Stdout, r.Stderr)
	}
	return r, err
}

// idling has guests stand idle, and adds up what they take of the host.
func idling(dir string, k *kernel.Kernel, p *program) (results []measured.Result, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), idleGuests*guestLimit)
	defer cancel()
	var running []*connected
	defer func() {
		for _, g := range running {
			err = errors.Join(err, g.stop(ctx))
		}
	}()
	for range idleGuests {
		g, err := p.start(ctx, dir, k)
		if err != nil {
			return nil, fmt.Errorf("guest %d of %d: %w", len(running)+1, idleGuests, err)
		}
		running = append(running, g)
	}
	cpu := func() (total float64, err error) {
		for _, g := range running {
			ticks, err := ticksOf(g.PID())
			if err != nil {
				return 0, err
			}
			total += ticks
		}
		return total, nil
	}
	const wait = 10 * time.Second
	before, err := cpu()
	if err != nil {
		return nil, err
	}
	time.Sleep(wait)
	after, err := cpu()
	if err != nil {
		return nil, err
	}
	memory := 0.0
	for _, g := range running {
		own, err := measured.Proportional(strconv.Itoa(g.PID()))
		if err != nil {
			return nil, err
		}
		memory += own
	}
	what := fmt.Sprintf("%d idle guests of 256 MiB: ", idleGuests)
	return []measured.Result{
		{What: what + "memory of the host", Got: memory / 1e9, Against: "limit", Limit: 4, Unit: "GB"},
		{What: what + "CPU of the host", Got: (after - before) / wait.Seconds(), Against: "limit", Limit: 1, Unit: "cores"},
	}, nil
}

// ticksOf is the CPU time of a process, in seconds.
func ticksOf(pid int) (float64, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(text, []byte(") "))
	fields := bytes.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat reads %.60q", pid, text)
	}
	const perSecond = 100 // on Linux, for all that looks in from user space
	user, err := strconv.ParseFloat(string(fields[11]), 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseFloat(string(fields[12]), 64)
	return (user + system) / perSecond, err
}
