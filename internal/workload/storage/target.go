package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// checkTargets refuses every target that must not be written to. A target that
// is mounted, holds a file system or a partition table, or is part of RAID, LVM
// or swap is refused whatever the study says; any other needs destroy: true,
// unless the load only reads.
func (d *disks) checkTargets(ctx context.Context, m platform.Machine) error {
	harmless := !d.pattern.writes() && d.pattern.Precondition == "none"
	seen := map[string]string{}
	for _, t := range d.pattern.Targets {
		target, err := resolve(ctx, m, t)
		if err != nil {
			return err
		}
		if other, twice := seen[target.identity]; twice {
			return fmt.Errorf("targets %s and %s are the same", other, t)
		}
		seen[target.identity] = t
		if err := refuseSize(&d.pattern, target.size); err != nil {
			return fmt.Errorf("target %s: %w", t, err)
		}
		if d.pattern.Direct {
			if err := refuseSector(&d.pattern, target.sector(ctx, m), t); err != nil {
				return err
			}
		}
		if harmless {
			continue
		}
		if err := target.refuse(ctx, m); err != nil {
			return fmt.Errorf("target %s is not written to: %w", t, err)
		}
		if !d.pattern.Destroy {
			instead := ""
			if !d.pattern.writes() {
				instead = ", or precondition: none, because this load only reads"
			}
			return fmt.Errorf("target %s would be overwritten and all its data lost; to allow that, set destroy: true%s", t, instead)
		}
	}
	return nil
}

// target is a file or device, links resolved.
type target struct {
	path     string
	device   bool
	number   string // major:minor of a device
	size     parameter.Bytes
	identity string // alike for all names of the same device or file
}

func resolve(ctx context.Context, m platform.Machine, name string) (*target, error) {
	out, err := ask(ctx, m, "readlink", "-e", "--", name)
	if err != nil {
		return nil, fmt.Errorf("target %s does not exist", name)
	}
	t := &target{path: strings.TrimSpace(out)}
	out, err = ask(ctx, m, "stat", "-c", "%t %T %d:%i %s %F", "--", t.path)
	if err != nil {
		return nil, fmt.Errorf("inspect target %s: %w", name, err)
	}
	fields := strings.SplitN(strings.TrimSpace(out), " ", 5)
	if len(fields) != 5 {
		return nil, fmt.Errorf("inspect target %s: stat printed %q", name, out)
	}
	size, err := strconv.ParseInt(fields[3], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("inspect target %s: stat printed %q", name, out)
	}
	t.size = parameter.Bytes(size)
	switch kind := fields[4]; {
	case kind == "block special file":
		major, errA := strconv.ParseUint(fields[0], 16, 32)
		minor, errB := strconv.ParseUint(fields[1], 16, 32)
		if err := errors.Join(errA, errB); err != nil {
			return nil, fmt.Errorf("inspect target %s: %w", name, err)
		}
		t.device, t.number = true, fmt.Sprintf("%d:%d", major, minor)
		t.identity = "device " + t.number
		if t.size, err = deviceSize(ctx, m, t.number); err != nil {
			return nil, fmt.Errorf("inspect target %s: %w", name, err)
		}
	case strings.HasPrefix(kind, "regular"):
		t.identity = "file " + fields[2]
	default:
		return nil, fmt.Errorf("target %s is a %s: only files and block devices can be targets", name, kind)
	}
	return t, nil
}

// deviceSize is the size of a block device, which the kernel counts in units of
// 512 bytes whatever the size of its sectors.
func deviceSize(ctx context.Context, m platform.Machine, number string) (parameter.Bytes, error) {
	data, err := m.ReadFile(ctx, "/sys/dev/block/"+number+"/size")
	if err != nil {
		return 0, fmt.Errorf("size of the device: %w", err)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 54)
	if err != nil {
		return 0, fmt.Errorf("size of the device: %w", err)
	}
	return parameter.Bytes(n * 512), nil
}

// sector is the size of the sectors below the target; 0 where it cannot be read.
func (t *target) sector(ctx context.Context, m platform.Machine) parameter.Bytes {
	if !t.device {
		return sectorUnder(ctx, m, path.Dir(t.path))
	}
	// A partition has the queue of its disk, which is the folder above.
	for _, queue := range []string{"/queue", "/../queue"} {
		if n := sectorOf(ctx, m, "/sys/dev/block/"+t.number+queue); n > 0 {
			return n
		}
	}
	return 0
}

// refuse says what the target is in use for. Whatever cannot be looked at counts
// as in use.
func (t *target) refuse(ctx context.Context, m platform.Machine) error {
	err := t.refuseSwap(ctx, m)
	switch {
	case err != nil:
		return err
	case t.device:
		err = t.refuseDevice(ctx, m)
	default:
		err = t.refuseFile(ctx, m)
	}
	if err != nil {
		return err
	}
	return t.refuseSignature(ctx, m)
}

func (t *target) refuseSwap(ctx context.Context, m platform.Machine) error {
	swaps, err := m.ReadFile(ctx, "/proc/swaps")
	if err != nil {
		return fmt.Errorf("whether it is swap cannot be read: %w", err)
	}
	for line := range strings.Lines(string(swaps)) {
		if name, _, _ := strings.Cut(line, " "); name == t.path {
			return errors.New("it is swap space in use")
		}
	}
	return nil
}

func (t *target) refuseDevice(ctx context.Context, m platform.Machine) error {
	if err := t.refuseMounted(ctx, m); err != nil {
		return err
	}
	folder, err := ask(ctx, m, "readlink", "-e", "--", "/sys/dev/block/"+t.number)
	if err != nil {
		return fmt.Errorf("cannot read which devices use it: %w", err)
	}
	folder = strings.TrimSpace(folder)
	if err := t.refusePart(ctx, m, folder); err != nil {
		return err
	}
	if err := t.refuseOpened(ctx, m); err != nil {
		return err
	}
	switch _, err := m.ReadFile(ctx, folder+"/partition"); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("whether it is a partition cannot be read: %w", err)
	}
	return refuseDisk(ctx, m, path.Dir(folder))
}

// refuseDisk refuses a partition whose disk is in use as a whole: by a virtual machine, a RAID or multipath device, or a file system
// or swap space that a forgotten partition table does not know of.
func refuseDisk(ctx context.Context, m platform.Machine, folder string) error {
	number, err := m.ReadFile(ctx, folder+"/dev")
	if err != nil {
		return fmt.Errorf("whether its disk is in use cannot be read: %w", err)
	}
	disk := &target{path: "/dev/" + strings.ReplaceAll(path.Base(folder), "!", "/"), device: true, number: strings.TrimSpace(string(number))}
	err = disk.refuseSwap(ctx, m)
	if err == nil {
		err = disk.refuseMounted(ctx, m)
	}
	if err == nil {
		var list string
		if list, err = ask(ctx, m, "ls", "-1", "--", folder+"/holders"); err == nil && strings.TrimSpace(list) != "" {
			err = partOf(strings.Fields(list)[0])
		}
	}
	if err == nil {
		err = disk.refuseOpened(ctx, m)
	}
	if err != nil {
		return fmt.Errorf("its disk %s as a whole: %w", disk.path, err)
	}
	return nil
}

func partOf(name string) error {
	return fmt.Errorf("it is part of %s (RAID, LVM or another device made of it)", name)
}

func (t *target) refuseMounted(ctx context.Context, m platform.Machine) error {
	mounts, err := m.ReadFile(ctx, "/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("whether it is mounted cannot be read: %w", err)
	}
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); len(fields) > 4 && fields[2] == t.number {
			return fmt.Errorf("it is mounted on %s", fields[4])
		}
	}
	for mount := range platform.Mounts(mounts) {
		// File systems such as btrfs have numbers of their own.
		if mount.Source == t.path {
			return fmt.Errorf("it is mounted on %s", mount.Point)
		}
	}
	return nil
}

// refusePart refuses a device that has holders or partitions.
func (t *target) refusePart(ctx context.Context, m platform.Machine, folder string) error {
	list, err := ask(ctx, m, "ls", "-1", "--", folder, folder+"/holders")
	if err != nil {
		return fmt.Errorf("cannot read which devices use it: %w", err)
	}
	holders := false
	for line := range strings.Lines(list) {
		name := strings.TrimSpace(line)
		switch {
		case strings.HasSuffix(name, "/holders:"):
			holders = true
		case name == "" || strings.HasSuffix(name, ":"):
		case holders:
			return partOf(name)
		case strings.HasPrefix(name, path.Base(folder)) && name != path.Base(folder):
			return fmt.Errorf("it has partitions (%s)", name)
		}
	}
	return nil
}

// refuseFile refuses a file that stands behind a loop device.
func (t *target) refuseFile(ctx context.Context, m platform.Machine) error {
	out, err := ask(ctx, m, "losetup", "--associated", t.path)
	if err != nil {
		return fmt.Errorf("whether it is behind a loop device cannot be read: %w", err)
	}
	if device, _, found := strings.Cut(out, ":"); found {
		return fmt.Errorf("it is behind the loop device %s", device)
	}
	return nil
}

// refuseSignature asks wipefs for anything that it knows: file systems, swap, members
// of RAID and LVM, encryption, partition tables. Unlike blkid it lists what is
// there more than once or in part, and fails where it cannot read.
func (t *target) refuseSignature(ctx context.Context, m platform.Machine) error {
	r, err := m.Run(ctx, platform.Command{Argv: []string{"wipefs", "--no-act", "--parsable", "--", t.path}})
	if err != nil {
		return fmt.Errorf("cannot read its contents, because wipefs is missing: apt install util-linux (%w)", err)
	}
	if r.Exit != 0 {
		return fmt.Errorf("cannot read its contents: wipefs ended with status %d %s", r.Exit, strings.TrimSpace(string(r.Stderr)))
	}
	for line := range strings.Lines(string(r.Stdout)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		// offset,uuid,label,type: a label may hold anything.
		kind := line[strings.LastIndexByte(line, ',')+1:]
		if slices.Contains([]string{"dos", "gpt", "PMBR", "mac", "sun", "sgi", "bsd", "atari"}, kind) {
			return fmt.Errorf("it holds a partition table (%s)", kind)
		}
		return fmt.Errorf("it holds %s (clear it yourself if it is not needed: wipefs -a)", kind)
	}
	return nil
}

// ask runs a program that only looks, and returns what it printed.
func ask(ctx context.Context, m platform.Machine, argv ...string) (string, error) {
	out, err := output(ctx, m, platform.Command{Argv: argv})
	if err != nil {
		return "", fmt.Errorf("%s: %w", argv[0], err)
	}
	return out, nil
}

// output runs a command to its end, and returns what it printed.
func output(ctx context.Context, m platform.Machine, c platform.Command) (string, error) {
	r, err := m.Run(ctx, c)
	if err == nil && r.Exit != 0 {
		err = fmt.Errorf("status %d %s", r.Exit, strings.TrimSpace(string(r.Stderr)))
	}
	return string(r.Stdout), err
}
