package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"plimsoll/internal/agent/remote"
	"plimsoll/internal/cluster/topology"
	"plimsoll/internal/guest/furnish"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/guest/view"
	"plimsoll/internal/platform"
)

// dataImage is the file that holds the disk that workloads write to.
const dataImage = "data.img"

// boot starts the guest as the settings have it. Its disk stays from boot to boot.
func (m *machine) boot(ctx context.Context) (err error) {
	s := m.settings
	shape, err := s.shape()
	if err != nil {
		return err
	}
	if err := m.bed.room.claim(m.needs()); err != nil {
		return err
	}
	if err := m.connect(ctx, &shape); err != nil {
		return err
	}
	archive, err := m.bed.archive(s.parts())
	if err != nil {
		return err
	}
	defer func() {
		if m.vm == nil {
			m.unserve()
		}
	}()
	data, err := m.storage(ctx, &shape)
	if err != nil {
		return err
	}
	tools, err := m.toolDisk(ctx)
	if err != nil {
		return err
	}
	if tools.Path != "" {
		shape.Disks = append(shape.Disks, tools)
	}
	if m.chosen, err = m.accelerator(ctx); err != nil {
		return err
	}
	o := qemu.Options{Kernel: m.depot.kernel, Initramfs: archive, Dir: m.home.Path, BootTimeout: time.Duration(s.Boot), Accelerator: m.chosen.Accelerator}
	if m.vm, err = qemu.Start(ctx, shape, o); err != nil {
		m.vm = nil
		return err
	}
	platform.LogStart(ctx, m.name, append([]string{qemu.Binary}, m.vm.Facts().Arguments...))
	m.bed.room.started(m.number, m.vm.PID())
	if err := m.join(ctx, data, tools); err != nil {
		console := strings.TrimSpace(string(m.vm.Console()))
		return errors.Join(fmt.Errorf("%w; the console said: %s", err, console[max(0, len(console)-500):]), m.down(ctx))
	}
	m.booted = s
	return nil
}

// accelerator is what executes the guest's instructions. What was found out by booting is
// kept from one study to the next.
func (m *machine) accelerator(ctx context.Context) (qemu.Chosen, error) {
	switch s := m.settings; {
	case s.VirtualTime > 0:
		return qemu.Chosen{Accelerator: qemu.TCG, Why: "it alone has virtual time"}, nil
	case s.Accelerator != "auto":
		return qemu.Chosen{Accelerator: qemu.Accelerator(s.Accelerator), Why: "it was asked for"}, nil
	}
	binary, err := exec.LookPath(qemu.Binary)
	if err != nil {
		return qemu.Chosen{}, fmt.Errorf("QEMU is missing: apt install qemu-system-x86 (%w)", err)
	}
	return qemu.Probe(ctx, binary, m.depot.kernel, m.depot.cache)
}

// join opens the channel and makes the guest's disks usable.
func (m *machine) join(ctx context.Context, data, tools qemu.Disk) error {
	conn, err := m.vm.Channel(ctx)
	if err != nil {
		return err
	}
	m.migration.relay, m.migration.past = newRelay(conn), platform.Given{}
	if m.far, err = remote.Connect(ctx, m.migration.relay); err != nil {
		return errors.Join(fmt.Errorf("connect to the agent in the guest: %w", err), conn.Close())
	}
	if m.confined != (platform.Confinement{}) {
		if err := m.far.Confine(ctx, m.confined); err != nil {
			return fmt.Errorf("confine the guest's workers as before: %w", err)
		}
	}
	if err := errors.Join(m.place(ctx), m.attachStorage(ctx, data)); err != nil {
		return err
	}
	if tools.Path == "" {
		return nil
	}
	return furnish.MountPrograms(ctx, m.far, tools.Size)
}

// toolDisk is the disk with programs of the host, which all guests share; without a path
// where there is none.
func (m *machine) toolDisk(ctx context.Context) (d qemu.Disk, err error) {
	m.bed.making.Lock()
	kept, err := furnish.ProgramDisk(ctx, m.depot.cache)
	m.bed.making.Unlock()
	if err != nil || kept == "" {
		return d, err
	}
	info, err := os.Stat(kept)
	if err != nil {
		return d, err
	}
	d = qemu.Disk{Name: "programs", Size: info.Size(), Controller: qemu.VirtioBlk, Backing: qemu.BackingFile, Path: kept, Cache: "writeback", ReadOnly: true}
	if d.Size == int64(m.settings.Disk) {
		return d, fmt.Errorf("disk: %s is the size of another disk of the guest: take a little more", m.settings.Disk)
	}
	return d, nil
}

// hostShape is this host, as the advisor of topologies takes it.
func hostShape() (topology.Shape, error) {
	t, err := view.Read(os.ReadFile)
	if err != nil {
		return topology.Shape{}, fmt.Errorf("read the topology of this host: %w", err)
	}
	return qemu.HostShape("this host", t), nil
}
