package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/platform"
)

func (m *machine) Confinement() platform.Confinement {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.confine
}

// Confinable judges each level by itself, not their combination: factors are set
// one after the other, and what holds in between concerns no worker.
func (m *machine) Confinable(_ context.Context, c platform.Confinement) error {
	for what, list := range map[string]string{"CPU affinity": c.Affinity, "CPU set": c.CPUSet} {
		if list == platform.Unlimited {
			continue
		}
		if err := present(list); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	if c.CPUSet == "" && c.Quota == "" {
		return nil // that takes no control group
	}
	h, err := readHierarchies()
	if err != nil {
		return err
	}
	_, err = h.place(c)
	return err
}

// Confine holds for workers that start from now on.
func (m *machine) Confine(ctx context.Context, c platform.Confinement) error {
	if err := m.Confinable(ctx, c); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if c.CPUSet == m.confine.CPUSet && c.Quota == m.confine.Quota {
		m.confine = c
		return nil
	}
	for len(m.groups) > 0 {
		if err := remove(ctx, m.groups[0].folder); err != nil {
			return err
		}
		m.groups = m.groups[1:]
	}
	m.confine = platform.Confinement{Affinity: c.Affinity}
	if c == m.confine {
		return nil
	}
	h, err := readHierarchies()
	if err != nil {
		return err
	}
	groups, err := h.place(c)
	if err != nil {
		return err
	}
	for _, g := range groups {
		m.groups = append(m.groups, g) // first, so that a half-made group is removed as well
		if err := h.fill(g, c); err != nil {
			return err
		}
	}
	m.confine = c
	return nil
}

// present checks that the CPUs of a list, which may be empty, are online.
func present(list string) error {
	if list == "" {
		return nil
	}
	cpus, err := platform.ParseCPUs(list)
	if err != nil {
		return err
	}
	online, err := online()
	if err != nil {
		return fmt.Errorf("read the online CPUs: %w", err)
	}
	if absent := cpus.Without(online); len(absent) > 0 {
		return fmt.Errorf("CPU %s is not online here; online: %s", absent, online)
	}
	return nil
}

// online lists the CPUs that are online; /proc/stat names them where /sys is not mounted, as in a plain chroot.
func online() (platform.CPUs, error) {
	text, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err == nil {
		return platform.ParseCPUs(string(text))
	}
	stat, unread := os.ReadFile("/proc/stat")
	if unread != nil {
		return nil, err
	}
	return cpusOf(string(stat))
}

// cpusOf lists the CPUs in the text of /proc/stat, which has a line for each that is online.
func cpusOf(stat string) (platform.CPUs, error) {
	var numbers []string
	for line := range strings.Lines(stat) {
		name, _, _ := strings.Cut(line, " ")
		if number, found := strings.CutPrefix(name, "cpu"); found && number != "" {
			numbers = append(numbers, number)
		}
	}
	return platform.ParseCPUs(strings.Join(numbers, ","))
}

// mustCPUs reads a list that was checked before.
func mustCPUs(list string) platform.CPUs {
	cpus, _ := platform.ParseCPUs(list)
	return cpus
}

// launch starts a command, confined if it is a worker. A process inherits the
// affinity and the version 1 control groups of the very thread that starts it,
// so this thread goes there and comes back. It reports whether it is back.
func (m *machine) launch(cmd *exec.Cmd, worker bool) (clean bool, err error) {
	if !worker {
		return true, cmd.Start()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.confine == (platform.Confinement{}) {
		return true, cmd.Start()
	}
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return true, fmt.Errorf("read CPU affinity: %w", err)
	}
	for _, g := range m.groups {
		if g.version == 2 {
			folder, err := os.Open(g.folder)
			if err != nil {
				return true, fmt.Errorf("open control group: %w", err)
			}
			defer folder.Close() //nolint:errcheck // nothing was written
			cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(folder.Fd())
		}
	}
	err = m.enter()
	if err == nil {
		err = cmd.Start()
	}
	back := m.leave(&before)
	if err != nil {
		return back == nil, err
	}
	if err := m.pin(cmd.Process.Pid); err != nil {
		return back == nil, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	return back == nil, nil
}

func (m *machine) enter() error {
	for _, g := range m.groups {
		if g.version == 1 {
			if err := enterTasks(g.folder); err != nil {
				return err
			}
		}
	}
	if m.confine.Affinity == "" {
		return nil
	}
	set := cpuSet(m.confine.Affinity)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("set CPU affinity %s: %w", m.confine.Affinity, err)
	}
	return nil
}

// leave undoes enter. Going back to a CPU set of version 1 widens the affinity,
// so the affinity comes last.
func (m *machine) leave(before *unix.CPUSet) error {
	var errs []error
	for _, g := range m.groups {
		if g.version == 1 {
			errs = append(errs, enterTasks(g.home))
		}
	}
	errs = append(errs, unix.SchedSetaffinity(0, before))
	return errors.Join(errs...)
}

// pin sets the affinity of a process in a CPU set of version 2 once more,
// because kernels before 6.2 widen it when they put the process there.
func (m *machine) pin(pid int) error {
	inSet := false
	for _, g := range m.groups {
		inSet = inSet || g.version == 2 && m.confine.CPUSet != "" && m.confine.CPUSet != platform.Unlimited
	}
	if !inSet || m.confine.Affinity == "" {
		return nil
	}
	set := cpuSet(m.confine.Affinity)
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil {
		return err
	}
	for _, thread := range threads {
		tid, err := strconv.Atoi(filepath.Base(thread))
		if err != nil {
			continue
		}
		if err := unix.SchedSetaffinity(tid, &set); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("set CPU affinity %s: %w", m.confine.Affinity, err)
		}
	}
	return nil
}

func enterTasks(folder string) error {
	name := filepath.Join(folder, "tasks")
	if err := writeKernel(name, strconv.Itoa(unix.Gettid())); err != nil {
		return fmt.Errorf("enter control group: %w", err)
	}
	return nil
}

func cpuSet(list string) unix.CPUSet {
	var set unix.CPUSet
	for _, cpu := range mustCPUs(list) {
		set.Set(cpu)
	}
	return set
}

// writeKernel hands a text to a file of the kernel in one write.
func writeKernel(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.TrimSpace(text))
	return errors.Join(err, f.Close())
}
