package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"plimsoll/internal/charset"
	"plimsoll/internal/guest/capacity"
	"plimsoll/internal/guest/folder"
	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/provision"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/guest/supply"
	"plimsoll/internal/guest/vswitch"
	"plimsoll/internal/platform"
)

// slot is the place of a VM in the testbed, from the first boot to the last.
type slot struct {
	bed    *testbed
	owner  *machine
	number int // from 1; the address follows from it
	home   *folder.Folder
	plug   *vswitch.Plug // nil before the first boot with a network
	// targetPlug is that of its target, nil before the first boot with a fabric.
	targetPlug *vswitch.Plug
	chosen     qemu.Chosen
}

// claim is the most that a VM may take of this host.
func (s *slot) claim(g spec.Guest) capacity.Claim {
	disk := int64(g.Pmem)
	if _, is, _ := s.bed.images.lies(g, s.number); !is {
		disk += int64(g.DiskSize)
	}
	return capacity.Claim{Number: s.number, Memory: g.MostMemory(), Disk: disk, Image: s.home.File(spec.DataImage)}
}

// boot starts a VM, with an image as its disk unless that is empty. Its disk stays from boot to boot.
func (s *slot) boot(ctx context.Context, name string, g spec.Guest, image hardware.Image, confined platform.Confinement) (i *instance, err error) {
	shape, err := g.Shape(title(name, s.number))
	if err != nil {
		return nil, err
	}
	if err := s.bed.capacity.Claim(s.claim(g)); err != nil {
		return nil, err
	}
	if err := s.connect(ctx, name, g, &shape); err != nil {
		return nil, err
	}
	o, err := s.options(g)
	if err != nil {
		return nil, err
	}
	programs, err := s.disks(ctx, g, image, &shape)
	if err != nil {
		return nil, err
	}
	if s.chosen, err = s.bed.supply.Accelerator(ctx, g); err != nil {
		return nil, err
	}
	o.BootTimeout, o.Accelerator = time.Duration(g.Boot), s.chosen.Accelerator
	i = &instance{spec: g, image: image}
	if err := i.serveDisk(ctx, s); err != nil {
		return nil, err
	}
	if err := i.start(ctx, s, o, shape); err != nil {
		i.stopServer()
		return nil, err
	}
	process := i.qemu.Load()
	s.attached(i, process)
	platform.LogStart(ctx, name, append([]string{qemu.Binary}, i.qemu.Load().Facts().Arguments...))
	s.bed.capacity.Started(s.number, i.qemu.Load().PID())
	if err := errors.Join(i.join(ctx, confined, programs), s.protect(ctx, i)); err != nil {
		console := strings.TrimSpace(string(i.qemu.Load().Console()))
		return nil, errors.Join(fmt.Errorf("%w; the console said: %s", err, console[max(0, len(console)-500):]), s.stop(ctx, i))
	}
	return i, nil
}

// title is the name that QEMU gets: that of the machine or, where that is too long for it, one with
// its number.
func title(name string, number int) string {
	const most = 20 // see hardware.Shape
	if !charset.Name(name, ".-", most) {
		return fmt.Sprintf("%s-%d", machineName, number)
	}
	return name
}

// options are the options of QEMU for a VM.
func (s *slot) options(g spec.Guest) (qemu.Options, error) {
	archive, err := s.bed.initramfs(supply.Modules(g))
	return qemu.Options{Kernel: s.bed.supply.Kernel, Initramfs: archive, Dir: s.home.Path}, err
}

// disks adds the VM's disks to its shape, and makes their files. The disk with programs has
// no path if there is none.
func (s *slot) disks(ctx context.Context, g spec.Guest, image hardware.Image, shape *hardware.Shape) (programs hardware.Disk, err error) {
	data, err := s.data(ctx, g, image)
	if err != nil {
		return programs, err
	}
	if len(shape.Persistent) > 0 {
		file := s.home.File("pmem.img")
		if err := provision.MakePmem(ctx, file, int64(g.Pmem)); err != nil {
			return programs, err
		}
		shape.Persistent[0].Path = file
	}
	shape.Disks = append(shape.Disks, data)
	kept, err := s.bed.programs(ctx)
	if err != nil || kept == "" {
		return programs, err
	}
	programs, err = supply.ProgramDisk(kept, g)
	shape.Disks = append(shape.Disks, programs)
	return programs, err
}

// data is the disk that workloads write to, made where it is missing.
func (s *slot) data(ctx context.Context, g spec.Guest, image hardware.Image) (hardware.Disk, error) {
	if image != (hardware.Image{}) {
		return g.ImageDisk(image), s.bed.images.have(ctx, image, int64(g.DiskSize), s.home.Path)
	}
	file := s.home.File(spec.DataImage)
	if _, err := os.Stat(file); err != nil {
		if err := provision.MakeDisk(ctx, file, int64(g.DiskSize)); err != nil {
			return hardware.Disk{}, err
		}
	}
	return g.Disk(s.home.Path), nil
}

// attached notes the QEMU that has an image as the VM's disk; nil for none any more.
func (s *slot) attached(i *instance, g *qemu.Guest) {
	if i.image != (hardware.Image{}) {
		s.bed.images.runs(s.owner, g)
	}
}

// stop powers the VM off.
func (s *slot) stop(ctx context.Context, i *instance) error {
	err := i.stop(ctx)
	s.attached(i, nil)
	s.bed.capacity.Stopped(s.number)
	return err
}

// close removes the files of the VM.
func (s *slot) close(ctx context.Context) error {
	err := s.bed.images.forget(ctx, s.number)
	for _, plug := range []*vswitch.Plug{s.plug, s.targetPlug} {
		if plug != nil {
			err = errors.Join(err, plug.Pull())
		}
	}
	s.bed.capacity.Release(s.number)
	return errors.Join(err, s.home.Remove())
}
