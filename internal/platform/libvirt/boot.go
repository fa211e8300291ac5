package libvirt

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"plimsoll/internal/agent/remote"
	"plimsoll/internal/guest/furnish"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/libvirt"
	"plimsoll/internal/platform"
)

// running is a guest that is up.
type running struct {
	domain  libvirt.Domain
	far     *remote.Machine
	channel *libvirt.Conn // carries the agent's channel
	chosen  qemu.Chosen
	boot    time.Duration
	failed  []string // why earlier attempts were given up
}

// boot starts the guest as the settings have it. Its disk stays from boot to boot. A guest
// that does not answer is started once more, which its facts tell.
func (m *machine) boot(ctx context.Context) error {
	c, err := m.dial(ctx)
	if err != nil {
		return err
	}
	s, r := m.settings, &running{}
	if r.chosen, err = m.supply.accelerator(ctx, s); err != nil {
		return err
	}
	data, tools, err := m.supply.disks(ctx, s)
	if err != nil {
		return err
	}
	const attempts = 2
	for n := 1; ; n++ {
		text, err := m.describe(ctx, r.chosen, data, tools)
		if err != nil {
			return err
		}
		err = m.start(ctx, c, r, text)
		if err == nil {
			break
		}
		if n == attempts || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		r.failed = append(r.failed, err.Error())
	}
	m.running, m.booted = r, s
	if err := m.furnish(ctx, r.far, data, tools); err != nil {
		return errors.Join(err, m.down(ctx))
	}
	return nil
}

// describe is the domain in libvirt's words. Each has a name of its own.
func (m *machine) describe(ctx context.Context, chosen qemu.Chosen, disks ...qemu.Disk) (string, error) {
	shape, err := m.settings.shape("plimsoll-" + rand.Text()[:8])
	if err != nil {
		return "", err
	}
	for _, d := range disks {
		if d.Path != "" {
			shape.Disks = append(shape.Disks, d)
		}
	}
	w := qemu.Wiring{Accelerator: chosen.Accelerator, Dir: m.supply.home.Path, Kernel: m.supply.home.File("kernel")}
	if w.Version, err = m.version(ctx); err != nil {
		return "", err
	}
	if w.Initramfs, err = m.supply.initramfs(shape); err != nil {
		return "", err
	}
	if w, err = qemu.OnThisMachine(w); err != nil {
		return "", err
	}
	return shape.Domain(w)
}

// version is the release of QEMU that the daemon has.
func (m *machine) version(ctx context.Context) (qemu.Version, error) {
	v, err := m.conn.HypervisorVersion(ctx)
	return qemu.Version{Major: int(v / 1e6), Minor: int(v / 1e3 % 1e3), Micro: int(v % 1e3)}, err
}

// start creates the domain and waits for its agent. Where that fails nothing is left of it.
func (m *machine) start(ctx context.Context, c *libvirt.Conn, r *running, text string) (err error) {
	console := qemu.ConsoleFile(m.supply.home.Path)
	// The daemon gives the file to QEMU's user, who may have no right to make one here.
	if err := os.WriteFile(console, nil, 0o644); err != nil {
		return fmt.Errorf("make a file for the console: %w", err)
	}
	begun := time.Now()
	if r.domain, err = c.CreateXML(ctx, text, libvirt.AutoDestroy); err != nil {
		return err
	}
	limit, cancel := context.WithTimeout(ctx, time.Duration(m.settings.Boot))
	defer cancel()
	r.channel, r.far, err = join(limit, m.settings.URI, r.domain, qemu.Port)
	if err == nil {
		r.boot = time.Since(begun)
		return nil
	}
	if said, unread := os.ReadFile(console); unread == nil && len(said) > 0 {
		said = bytes.TrimSpace(said)
		err = fmt.Errorf("%w; the console said: %s", err, said[max(0, len(said)-500):])
	}
	return errors.Join(err, destroy(ctx, c, r.domain))
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

// furnish makes a guest that has booted fit for workloads.
func (m *machine) furnish(ctx context.Context, far *remote.Machine, data, tools qemu.Disk) error {
	if m.confined != (platform.Confinement{}) {
		if err := far.Confine(ctx, m.confined); err != nil {
			return fmt.Errorf("confine the guest's workers as before: %w", err)
		}
	}
	if err := furnish.Mount(ctx, far, data.Size, scratch); err != nil {
		return err
	}
	if tools.Path == "" {
		return nil
	}
	return furnish.MountPrograms(ctx, far, tools.Size)
}

// accelerator is what executes the guest's instructions. What was found out by booting is
// kept from one study to the next.
func (p *supply) accelerator(ctx context.Context, s Settings) (qemu.Chosen, error) {
	if s.Accelerator != "auto" {
		return qemu.Chosen{Accelerator: qemu.Accelerator(s.Accelerator), Why: "it was asked for"}, nil
	}
	binary, err := exec.LookPath(qemu.Binary)
	if err != nil {
		return qemu.Chosen{}, fmt.Errorf("find out whether KVM works: %w: give accelerator kvm or tcg", err)
	}
	return qemu.Probe(ctx, binary, p.kernel, p.cache)
}
