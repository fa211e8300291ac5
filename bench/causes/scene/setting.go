package scene

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// chosen is the level in use, in files that list all: "always [madvise] never".
var chosen = regexp.MustCompile(`\[(.*?)\]`)

// Set writes a setting of the host; the former value is written back when the scene closes.
func (s *Scene) Set(file, value string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read %s before it is changed: %w", file, err)
	}
	former := strings.TrimSpace(string(text))
	if m := chosen.FindStringSubmatch(former); m != nil {
		former = m[1]
	}
	s.Undo(func() error { return write(file, former) })
	return write(file, value)
}

func write(file, value string) error {
	if err := os.WriteFile(file, []byte(value), 0o644); err != nil {
		return fmt.Errorf("write %q to %s: %w", value, file, err)
	}
	return nil
}

// Dirty sets a limit of dirty pages in bytes, such as "dirty_bytes". The kernel keeps either this or
// the ratio and sets the other to 0, so that the ratio is what is written back where it was in use.
func (s *Scene) Dirty(name string, bytes int) error {
	const folder = "/proc/sys/vm/"
	other := folder + strings.Replace(name, "_bytes", "_ratio", 1)
	text, err := os.ReadFile(other)
	if err != nil {
		return fmt.Errorf("read %s before it is changed: %w", other, err)
	}
	if ratio := strings.TrimSpace(string(text)); ratio != "0" {
		s.Undo(func() error { return write(other, ratio) })
		return write(folder+name, fmt.Sprint(bytes))
	}
	return s.Set(folder+name, fmt.Sprint(bytes))
}

// Group is a control group of the scene, in the first or second version.
type Group struct {
	files   []string // that take processes
	folders map[string]string
	unified bool
}

// groups is where control groups are mounted.
const groups = "/sys/fs/cgroup"

// Group makes a control group with controllers such as "cpu" and "memory".
func (s *Scene) Group(name string, controllers ...string) (*Group, error) {
	return s.group(groups, name, controllers...)
}

// group makes it below a folder.
func (s *Scene) group(groups, name string, controllers ...string) (*Group, error) {
	g := &Group{folders: map[string]string{}}
	_, err := os.Stat(groups + "/cgroup.controllers")
	g.unified = err == nil
	for _, c := range controllers {
		folder := filepath.Join(groups, c, name)
		if g.unified {
			folder = filepath.Join(groups, name)
			if err := write(groups+"/cgroup.subtree_control", "+"+c); err != nil {
				return nil, err
			}
		}
		g.folders[c] = folder
		if err := os.Mkdir(folder, 0o755); err != nil && !(g.unified && errors.Is(err, os.ErrExist)) {
			return nil, fmt.Errorf("make a control group: %w", err)
		}
		s.Undo(func() error { return remove(folder) })
		if file := filepath.Join(folder, "cgroup.procs"); !g.unified || len(g.files) == 0 {
			g.files = append(g.files, file)
		}
		if c == "cpuset" && !g.unified { // nothing can run in it without these
			if err := errors.Join(g.inherit(c, "cpuset.cpus"), g.inherit(c, "cpuset.mems")); err != nil {
				return nil, err
			}
		}
	}
	return g, nil
}

// Confined is a control group with one controller and a limit, where the scene is made with its cause; nil otherwise.
func Confined(s *Scene, name, controller string, limit func(*Group) error) (*Group, error) {
	if !s.Made {
		return nil, nil
	}
	g, err := s.Group(name, controller)
	if err != nil {
		return nil, err
	}
	return g, limit(g)
}

func (g *Group) inherit(controller, file string) error {
	folder := g.folders[controller]
	text, err := os.ReadFile(filepath.Join(filepath.Dir(folder), file))
	if err != nil {
		return fmt.Errorf("read the parent's %s: %w", file, err)
	}
	return write(filepath.Join(folder, file), strings.TrimSpace(string(text)))
}

// remove waits for processes to leave a control group.
func remove(folder string) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(pause) {
		err := os.Remove(folder)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if !errors.Is(err, syscall.EBUSY) || time.Now().After(deadline) {
			return fmt.Errorf("remove a control group: %w", err)
		}
	}
}

// knob is a setting of control groups, with its files in both versions.
type knob struct{ controller, first, second string }

func (g *Group) set(k knob, first, second string) error {
	file, text := k.first, first
	if g.unified {
		file, text = k.second, second
	}
	return write(filepath.Join(g.folders[k.controller], file), text)
}

// Quota limits the group to a share of CPUs, in hundredths of a CPU, with a period of 100 ms.
func (g *Group) Quota(percent int) error {
	micro := percent * 1000
	return g.set(knob{"cpu", "cpu.cfs_quota_us", "cpu.max"}, fmt.Sprint(micro), fmt.Sprint(micro, " 100000"))
}

// Join moves a process into the group.
func (g *Group) Join(pid string) error {
	var all error
	for _, file := range g.files {
		all = errors.Join(all, write(file, pid))
	}
	return all
}

// Leave moves a process from the group to its parent.
func (g *Group) Leave(pid string) error {
	var all error
	for _, file := range g.files {
		all = errors.Join(all, write(filepath.Join(filepath.Dir(filepath.Dir(file)), filepath.Base(file)), pid))
	}
	return all
}

// Weight is the share of CPU time that the group gets among its siblings; 100 is the preset.
func (g *Group) Weight(weight int) error {
	return g.set(knob{"cpu", "cpu.shares", "cpu.weight"}, fmt.Sprint(weight*1024/100), fmt.Sprint(weight))
}

// CPUs limits the group to CPUs such as "0-1".
func (g *Group) CPUs(list string) error {
	return g.set(knob{"cpuset", "cpuset.cpus", "cpuset.cpus"}, list, list)
}

// Memory limits the memory of the group, in bytes; swap is not part of the limit.
func (g *Group) Memory(limit int) error {
	return g.set(knob{"memory", "memory.limit_in_bytes", "memory.max"}, fmt.Sprint(limit), fmt.Sprint(limit))
}

// Throttle limits operations per second on a block device, for reads or writes.
func (g *Group) Throttle(device string, reads bool, perSecond int) error {
	number, err := numbers(device)
	if err != nil {
		return err
	}
	first, second := "blkio.throttle.write_iops_device", "wiops"
	if reads {
		first, second = "blkio.throttle.read_iops_device", "riops"
	}
	controller := "blkio"
	if g.unified {
		controller = "io"
	}
	return g.set(knob{controller, first, "io.max"}, fmt.Sprintf("%s %d", number, perSecond), fmt.Sprintf("%s %s=%d", number, second, perSecond))
}

// Disks is the name of the controller of block devices.
func Disks() string {
	if _, err := os.Stat(groups + "/cgroup.controllers"); err == nil {
		return "io"
	}
	return "blkio"
}

// numbers are the major and minor number of a block device.
func numbers(device string) (string, error) {
	text, err := os.ReadFile("/sys/class/block/" + filepath.Base(device) + "/dev")
	if err != nil {
		return "", fmt.Errorf("read the number of %s: %w", device, err)
	}
	return strings.TrimSpace(string(text)), nil
}
