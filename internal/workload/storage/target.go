package storage

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"plimsoll/internal/platform"
)

// checkTargets refuses every target that must not be written to. A target that
// is mounted, holds a file system or a partition table, or is part of RAID, LVM
// or swap is refused whatever the study says; any other needs destroy: true,
// unless the load only reads.
func (d *disks) checkTargets(ctx context.Context, m platform.Machine) error {
	harmless := !d.writes() && d.Precondition == "none"
	seen := map[string]string{}
	for _, t := range d.Targets {
		target, err := resolve(ctx, m, t)
		if err != nil {
			return err
		}
		if other, twice := seen[target.identity]; twice {
			return fmt.Errorf("targets %s and %s are the same", other, t)
		}
		seen[target.identity] = t
		if harmless {
			continue
		}
		if err := target.refuse(ctx, m); err != nil {
			return fmt.Errorf("target %s is not written to: %w", t, err)
		}
		if !d.Destroy {
			return fmt.Errorf("target %s is not written to without leave: everything on it would be lost; if that is meant, set destroy: true", t)
		}
	}
	return nil
}

// target is a file or device, links resolved.
type target struct {
	path     string
	device   bool
	number   string // major:minor of a device
	identity string // alike for all names of the same device or file
}

func resolve(ctx context.Context, m platform.Machine, name string) (*target, error) {
	out, err := ask(ctx, m, "readlink", "-e", "--", name)
	if err != nil {
		return nil, fmt.Errorf("target %s does not exist", name)
	}
	t := &target{path: strings.TrimSpace(out)}
	out, err = ask(ctx, m, "stat", "-c", "%t %T %d:%i %F", "--", t.path)
	if err != nil {
		return nil, fmt.Errorf("look at target %s: %w", name, err)
	}
	fields := strings.SplitN(strings.TrimSpace(out), " ", 4)
	if len(fields) != 4 {
		return nil, fmt.Errorf("look at target %s: stat printed %q", name, out)
	}
	switch kind := fields[3]; {
	case kind == "block special file":
		major, errA := strconv.ParseUint(fields[0], 16, 32)
		minor, errB := strconv.ParseUint(fields[1], 16, 32)
		if err := errors.Join(errA, errB); err != nil {
			return nil, fmt.Errorf("look at target %s: %w", name, err)
		}
		t.device, t.number = true, fmt.Sprintf("%d:%d", major, minor)
		t.identity = "device " + t.number
	case strings.HasPrefix(kind, "regular"):
		t.identity = "file " + fields[2]
	default:
		return nil, fmt.Errorf("target %s is a %s: only files and block devices can be targets", name, kind)
	}
	return t, nil
}

// refuse says what the target is in use for. Whatever cannot be looked at counts
// as in use.
func (t *target) refuse(ctx context.Context, m platform.Machine) error {
	swaps, err := m.ReadFile(ctx, "/proc/swaps")
	if err != nil {
		return fmt.Errorf("whether it is swap cannot be read: %w", err)
	}
	for line := range strings.Lines(string(swaps)) {
		if name, _, _ := strings.Cut(line, " "); name == t.path {
			return errors.New("it is swap space in use")
		}
	}
	if t.device {
		err = t.refuseDevice(ctx, m)
	} else {
		err = t.refuseFile(ctx, m)
	}
	if err != nil {
		return err
	}
	return t.refuseSignature(ctx, m)
}

func (t *target) refuseDevice(ctx context.Context, m platform.Machine) error {
	mounts, err := m.ReadFile(ctx, "/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("whether it is mounted cannot be read: %w", err)
	}
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); len(fields) > 4 && fields[2] == t.number {
			return fmt.Errorf("it is mounted on %s", fields[4])
		}
	}
	folder, err := ask(ctx, m, "readlink", "-e", "--", "/sys/dev/block/"+t.number)
	if err != nil {
		return fmt.Errorf("what it is part of cannot be read: %w", err)
	}
	folder = strings.TrimSpace(folder)
	list, err := ask(ctx, m, "ls", "-1", "--", folder, folder+"/holders")
	if err != nil {
		return fmt.Errorf("what it is part of cannot be read: %w", err)
	}
	holders := false
	for line := range strings.Lines(list) {
		name := strings.TrimSpace(line)
		switch {
		case strings.HasSuffix(name, "/holders:"):
			holders = true
		case name == "" || strings.HasSuffix(name, ":"):
		case holders:
			return fmt.Errorf("it is part of %s (RAID, LVM or another device made of it)", name)
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

// refuseSignature asks blkid for anything that it knows: file systems, swap,
// members of RAID and LVM, encryption, partition tables.
func (t *target) refuseSignature(ctx context.Context, m platform.Machine) error {
	const nothingFound = 2
	r, err := m.Run(ctx, platform.Command{Argv: []string{"blkid", "-p", "-o", "export", "--", t.path}})
	if err != nil {
		return fmt.Errorf("what is on it cannot be read, because blkid is missing: apt install util-linux (%w)", err)
	}
	switch r.Exit {
	case nothingFound:
		return nil
	case 0:
		found := map[string]string{}
		for line := range strings.Lines(string(r.Stdout)) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			found[key] = value
		}
		switch {
		case found["TYPE"] != "":
			return fmt.Errorf("it holds %s (clear it yourself if it is not needed: wipefs -a)", found["TYPE"])
		case found["PTTYPE"] != "":
			return fmt.Errorf("it holds a partition table (%s)", found["PTTYPE"])
		case len(r.Stdout) == 0:
			return nil
		}
		return fmt.Errorf("it holds something that blkid knows: %s", strings.Join(strings.Fields(string(r.Stdout)), " "))
	}
	return fmt.Errorf("what is on it cannot be read: blkid ended with status %d %s", r.Exit, strings.TrimSpace(string(r.Stderr)))
}

// ask runs a program that only looks, and returns what it printed.
func ask(ctx context.Context, m platform.Machine, argv ...string) (string, error) {
	r, err := m.Run(ctx, platform.Command{Argv: argv})
	if err == nil && r.Exit != 0 {
		err = fmt.Errorf("%s: status %d %s", argv[0], r.Exit, strings.TrimSpace(string(r.Stderr)))
	}
	return string(r.Stdout), err
}
