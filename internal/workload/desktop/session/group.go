package session

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"plimsoll/internal/platform"
)

// prefix begins the names of our control groups. The number of our process follows.
const prefix = "plimsoll-desktop-"

// group is a control group of version 2 below that of this process, whose limits hold for it too. A nil one does nothing.
type group struct {
	folder string
	at     *os.File
}

// newGroup makes a control group, or returns nil where that cannot be done.
func newGroup() *group {
	mountinfo, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	membership, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	own, err := platform.FindControlGroup(mountinfo, membership, "") // any controller, but in version 2
	if err != nil {
		return nil
	}
	sweep(own.Folder)
	g := &group{}
	if g.folder, err = os.MkdirTemp(own.Folder, fmt.Sprintf("%s%d-", prefix, os.Getpid())); err != nil {
		return nil
	}
	if g.at, err = os.Open(g.folder); err != nil {
		_ = syscall.Rmdir(g.folder)
		return nil
	}
	return g
}

// sweep removes the control groups of processes of ours that have died without removing them.
func sweep(folder string) {
	left, _ := filepath.Glob(filepath.Join(folder, prefix+"*"))
	for _, name := range left {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(name), prefix), "-")
		if _, err := os.Stat(filepath.Join("/proc", pid)); errors.Is(err, fs.ErrNotExist) {
			_ = syscall.Rmdir(name)
		}
	}
}

// hold has a process start in the group.
func (g *group) hold(a *syscall.SysProcAttr) {
	if g != nil {
		a.UseCgroupFD, a.CgroupFD = true, int(g.at.Fd())
	}
}

func (g *group) kill() {
	if g == nil {
		return
	}
	if os.WriteFile(filepath.Join(g.folder, "cgroup.kill"), []byte("1"), 0) == nil {
		return
	}
	for _, pid := range g.processes() { // of a kernel before 5.14
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

func (g *group) processes() (all []int) {
	text, _ := os.ReadFile(filepath.Join(g.folder, "cgroup.procs"))
	for field := range bytes.FieldsSeq(text) {
		if pid, err := strconv.Atoi(string(field)); err == nil && pid > 1 {
			all = append(all, pid)
		}
	}
	return all
}

// remove kills the processes and removes the group, which takes a moment because processes take a moment to end.
func (g *group) remove() {
	if g == nil {
		return
	}
	defer g.at.Close() //nolint:errcheck // nothing was written
	const patience, pause = 2 * time.Second, 5 * time.Millisecond
	for from := time.Now(); time.Since(from) < patience; time.Sleep(pause) {
		if g.kill(); syscall.Rmdir(g.folder) == nil {
			return
		}
	}
}

// cpu is the CPU time of the group's processes, also of those that have ended.
func (g *group) cpu() (time.Duration, bool) {
	if g == nil {
		return 0, false
	}
	text, err := os.ReadFile(filepath.Join(g.folder, "cpu.stat"))
	if err != nil {
		return 0, false
	}
	return parseUsage(text)
}

// parseUsage reads cpu.stat (Linux, Documentation/admin-guide/cgroup-v2.rst).
func parseUsage(text []byte) (time.Duration, bool) {
	for line := range bytes.Lines(text) {
		if name, value, ok := bytes.Cut(bytes.TrimSpace(line), []byte(" ")); ok && string(name) == "usage_usec" {
			micros, err := strconv.ParseInt(string(value), 10, 53)
			return time.Duration(micros) * time.Microsecond, err == nil && micros >= 0
		}
	}
	return 0, false
}

// memory is the peak of the group's memory; false where memory is not counted.
func (g *group) memory() (int64, bool) {
	if g == nil {
		return 0, false
	}
	text, err := os.ReadFile(filepath.Join(g.folder, "memory.peak"))
	if err != nil {
		return 0, false
	}
	peak, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	return peak, err == nil && peak > 0
}
