package libvirt

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"plimsoll/internal/agent/remote"
	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/provision"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/libvirt"
	"plimsoll/internal/platform"
)

// running is a VM that runs.
type running struct {
	spec    spec.Guest // that it was booted with
	domain  libvirt.Domain
	conn    *libvirt.Conn // on which the domain's life hangs
	disks   []hardware.Disk
	far     *remote.Machine
	channel *libvirt.Conn // carries the agent's channel
	chosen  qemu.Chosen
	boot    time.Duration
	failed  []string // why earlier attempts were given up
}

// boot starts the VM. Its disk stays from boot to boot. A VM that does not answer is started
// once more, which its facts tell.
func (m *machine) boot(ctx context.Context) error {
	r := &running{spec: m.Spec()}
	if err := m.bed.capacity.Claim(m.claim(r.spec)); err != nil {
		return err
	}
	leave, err := m.bed.capacity.Enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if r.conn, err = m.dial(ctx); err != nil {
		return err
	}
	if r.chosen, err = m.bed.files.supply.Accelerator(ctx, r.spec); err != nil {
		return err
	}
	if r.disks, err = m.bed.files.disks(ctx, m.home, r.spec); err != nil {
		return err
	}
	const attempts = 2
	for n := 1; ; n++ {
		text, err := m.describe(ctx, r)
		if err != nil {
			return err
		}
		err = m.start(ctx, r, text)
		if err == nil {
			break
		}
		if n == attempts || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		r.failed = append(r.failed, err.Error())
	}
	m.running = r
	if pid, err := processOf(os.DirFS("/proc"), r.domain); err == nil { // else its memory counts twice, as claimed and as used
		m.bed.capacity.Started(m.number, pid)
	}
	if err := m.prepare(ctx, r.far, r.disks); err != nil {
		return errors.Join(err, m.down(ctx))
	}
	return nil
}

// describe writes the domain's XML. Each domain has a name of its own.
func (m *machine) describe(ctx context.Context, r *running) (string, error) {
	shape, err := r.spec.Shape("plimsoll-" + rand.Text()[:8])
	if err != nil {
		return "", err
	}
	shape.Disks = r.disks
	w := hardware.Wiring{Accelerator: r.chosen.Accelerator, Dir: m.home.Path, Kernel: m.bed.files.home.File("kernel")}
	if w.Version, err = m.version(ctx); err != nil {
		return "", err
	}
	if w.Initramfs, err = m.bed.files.initramfs(r.spec); err != nil {
		return "", err
	}
	if w, err = hardware.OnThisHost(w); err != nil {
		return "", err
	}
	return shape.Domain(w)
}

// version is the release of QEMU that the daemon has.
func (m *machine) version(ctx context.Context) (hardware.Version, error) {
	v, err := m.conn.HypervisorVersion(ctx)
	return hardware.Version{Major: int(v / 1e6), Minor: int(v / 1e3 % 1e3), Micro: int(v % 1e3)}, err
}

// start creates the domain and waits for its agent. Where that fails nothing is left of it.
func (m *machine) start(ctx context.Context, r *running, text string) (err error) {
	console := hardware.ConsoleFile(m.home.Path)
	// The daemon gives the file to QEMU's user, who may have no right to make one here.
	if err := os.WriteFile(console, nil, 0o644); err != nil {
		return fmt.Errorf("create a file for the console: %w", err)
	}
	begun := time.Now()
	if r.domain, err = r.conn.CreateXML(ctx, text, libvirt.AutoDestroy); err != nil {
		return err
	}
	limit, cancel := context.WithTimeout(ctx, time.Duration(r.spec.Boot))
	defer cancel()
	r.channel, r.far, err = join(limit, m.bed.settings.URI, r.domain, hardware.Port)
	if err == nil {
		r.boot = time.Since(begun)
		return nil
	}
	if said, unread := os.ReadFile(console); unread == nil && len(said) > 0 {
		said = bytes.TrimSpace(said)
		err = fmt.Errorf("%w; the console said: %s", err, said[max(0, len(said)-500):])
	}
	return errors.Join(err, destroy(ctx, r.conn, r.domain))
}

// join opens a channel of a domain that its agent serves, on a connection of its own.
func join(ctx context.Context, uri string, d libvirt.Domain, port string) (*libvirt.Conn, *remote.Machine, error) {
	c, err := libvirt.Dial(ctx, uri)
	if err != nil {
		return nil, nil, err
	}
	stream, err := c.OpenChannel(ctx, d, port)
	if err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	far, err := remote.Connect(ctx, stream)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("the agent in domain %s: %w", d.Name, err), c.Close())
	}
	return c, far, nil
}

// prepare confines workers as before the boot, and mounts the disks: that of workloads and,
// where there is one, that with programs.
func (m *machine) prepare(ctx context.Context, far *remote.Machine, disks []hardware.Disk) error {
	if c := m.Confinement(); c != (platform.Confinement{}) {
		if err := far.Confine(ctx, c); err != nil {
			return fmt.Errorf("confine the guest's workers as before: %w", err)
		}
	}
	if err := provision.Mount(ctx, far, disks[0].Size, spec.Scratch); err != nil || len(disks) == 1 {
		return err
	}
	return provision.MountPrograms(ctx, far, disks[1].Size)
}
