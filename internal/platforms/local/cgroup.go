package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/platform"
)

// group is a control group that holds workers.
type group struct {
	version     int
	folder      string
	home        string   // version 1: the group that plimsoll itself is in
	controllers []string // those that confine, of "cpu" and "cpuset"
	enable      string   // version 2: the file that must switch the controllers on first
}

// hierarchies are the control groups of this machine. Versions 1 and 2 may be
// in use side by side, each for other controllers.
type hierarchies struct {
	mountinfo, membership []byte
	name                  string // of our groups
	write                 func(name, text string) error
}

func readHierarchies() (*hierarchies, error) {
	mountinfo, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("find control groups: %w", err)
	}
	membership, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, fmt.Errorf("find control groups: %w", err)
	}
	name, err := ownName()
	if err != nil {
		return nil, err
	}
	return &hierarchies{mountinfo: mountinfo, membership: membership, name: name, write: writeKernel}, nil
}

// place plans the control groups of c, and checks that they can be created. It creates
// none.
func (h *hierarchies) place(c platform.Confinement) ([]group, error) {
	var needed []string
	if c.CPUSet != "" {
		needed = append(needed, "cpuset")
	}
	if c.Quota != "" {
		if _, err := quota(c.Quota); c.Quota != platform.Unlimited && err != nil {
			return nil, err
		}
		needed = append(needed, "cpu")
	}
	var groups []group
	var unified platform.ControlGroup
	var inUnified []string
	for _, controller := range needed {
		found, err := platform.FindControlGroup(h.mountinfo, h.membership, controller)
		if err != nil {
			return nil, err
		}
		if found.Version == 2 {
			unified, inUnified = found, append(inUnified, controller)
			continue
		}
		if err := writable(found.Folder); err != nil {
			return nil, err
		}
		i := slices.IndexFunc(groups, func(g group) bool { return g.home == found.Folder })
		if i < 0 {
			groups = append(groups, group{version: 1, folder: filepath.Join(found.Folder, h.name), home: found.Folder})
			i = len(groups) - 1
		}
		groups[i].controllers = append(groups[i].controllers, controller)
	}
	if inUnified != nil {
		g, err := h.placeUnified(unified, inUnified)
		if err != nil {
			return nil, err
		}
		groups = append(groups, g)
	}
	return groups, nil
}

// placeUnified takes the nearest group above plimsoll whose children have the
// controllers. In version 2 that is never a group with processes of its own,
// so it is seldom plimsoll's own; if there is none, the controllers can be
// switched on at the top.
func (h *hierarchies) placeUnified(own platform.ControlGroup, controllers []string) (group, error) {
	g := group{version: 2, controllers: controllers}
	for at := own.Folder; ; at = filepath.Dir(at) {
		if offers(filepath.Join(at, "cgroup.subtree_control"), controllers) {
			g.folder = filepath.Join(at, h.name)
			return g, writable(at)
		}
		if at == own.Mount || len(at) <= len(own.Mount) {
			break
		}
	}
	if !offers(filepath.Join(own.Mount, "cgroup.controllers"), controllers) {
		return g, fmt.Errorf("missing controllers of control groups: %s: %w", strings.Join(controllers, ", "), errors.ErrUnsupported)
	}
	g.folder, g.enable = filepath.Join(own.Mount, h.name), filepath.Join(own.Mount, "cgroup.subtree_control")
	return g, writable(own.Mount)
}

func offers(name string, controllers []string) bool {
	text, err := os.ReadFile(name)
	if err != nil {
		return false
	}
	offered := strings.Fields(string(text))
	return !slices.ContainsFunc(controllers, func(c string) bool { return !slices.Contains(offered, c) })
}

func writable(folder string) error {
	if err := unix.Access(folder, unix.W_OK); err != nil {
		return fmt.Errorf("control groups cannot be created in %s: %w: run plimsoll as root or delegate a group to it: %w", folder, err, errors.ErrUnsupported)
	}
	return nil
}

// fill makes a group and gives it its limits.
func (h *hierarchies) fill(g group, c platform.Confinement) error {
	if g.enable != "" {
		if err := h.write(g.enable, "+"+strings.Join(g.controllers, " +")); err != nil {
			return fmt.Errorf("enable the controllers of control groups: %w", err)
		}
	}
	if err := os.Mkdir(g.folder, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("create control group: %w", err)
	}
	set := func(name, text string) error {
		if err := h.write(filepath.Join(g.folder, name), text); err != nil {
			return fmt.Errorf("limit control group: %w", err)
		}
		return nil
	}
	if slices.Contains(g.controllers, "cpuset") {
		if g.version == 1 { // a new group of version 1 has no memory to run in
			nodes, err := os.ReadFile(filepath.Join(g.home, "cpuset.mems"))
			if err != nil {
				return fmt.Errorf("limit control group: %w", err)
			}
			if err := set("cpuset.mems", string(nodes)); err != nil {
				return err
			}
		}
		cpus, err := g.cpus(c.CPUSet)
		if err != nil {
			return err
		}
		if err := set("cpuset.cpus", cpus); err != nil {
			return err
		}
	}
	if !slices.Contains(g.controllers, "cpu") {
		return nil
	}
	micros, err := quota(c.Quota)
	unlimited := c.Quota == platform.Unlimited
	switch {
	case unlimited && g.version == 2:
		return set("cpu.max", fmt.Sprintf("max %d", period.Microseconds()))
	case unlimited:
		return set("cpu.cfs_quota_us", "-1")
	case err != nil:
		return err
	case g.version == 2:
		return set("cpu.max", fmt.Sprintf("%d %d", micros, period.Microseconds()))
	}
	return errors.Join(
		set("cpu.cfs_period_us", strconv.FormatInt(period.Microseconds(), 10)),
		set("cpu.cfs_quota_us", strconv.FormatInt(micros, 10)))
}

// cpus is the CPU list that a group is given. Without a limit that is nothing in version
// 2, and all of the group above in version 1.
func (g group) cpus(list string) (string, error) {
	switch {
	case list != platform.Unlimited:
		return list, nil
	case g.version == 2:
		return "\n", nil
	}
	text, err := os.ReadFile(filepath.Join(g.home, "cpuset.cpus"))
	if err != nil {
		return "", fmt.Errorf("limit control group: %w", err)
	}
	return string(text), nil
}

// period is the span over which a quota is given out: the kernel's own default.
const period = 100 * time.Millisecond

// quota is a number of CPUs in microseconds per period. The kernel's minimum is one
// millisecond.
func quota(text string) (int64, error) {
	cpus, err := strconv.ParseFloat(text, 64)
	micros := math.Round(cpus * float64(period.Microseconds()))
	if err != nil || !(micros >= 1000 && micros < 1e12) {
		return 0, fmt.Errorf("quota %q is not a number of CPUs from 0.01, like 1.5", text)
	}
	return int64(micros), nil
}

// remove kills the processes of our control group and removes it, with those that a worker made below it and left. That takes a
// moment, because processes take a moment to exit.
func remove(ctx context.Context, folder string) error {
	below, _ := os.ReadDir(folder)
	for _, d := range below {
		if !d.IsDir() {
			continue
		}
		if err := remove(ctx, filepath.Join(folder, d.Name())); err != nil {
			return err
		}
	}
	retry := time.NewTicker(5 * time.Millisecond)
	defer retry.Stop()
	for {
		procs, err := os.ReadFile(filepath.Join(folder, "cgroup.procs"))
		if err == nil {
			for field := range strings.FieldsSeq(string(procs)) {
				if pid, err := strconv.Atoi(field); err == nil && pid > 1 && pid != os.Getpid() {
					_ = unix.Kill(pid, unix.SIGKILL)
				}
			}
		}
		err = unix.Rmdir(folder)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("remove control group %s: %w", folder, err)
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			return fmt.Errorf("remove control group %s: %w: %w", folder, err, ctx.Err())
		}
	}
}
