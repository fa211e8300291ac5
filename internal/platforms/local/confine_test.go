package local

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/platform"
)

func TestAffinityHoldsForWorkersAlone(t *testing.T) {
	m := opened(t)
	allowed := func(worker bool) string {
		t.Helper()
		r, err := m.Run(t.Context(), platform.Command{Argv: []string{"sh", "-c", "grep Cpus_allowed_list /proc/self/status"}, Worker: worker})
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(strings.TrimPrefix(string(r.Stdout), "Cpus_allowed_list:"))
	}
	free := allowed(true)
	cpus, err := platform.ParseCPUs(free)
	if err != nil || len(cpus) < 2 {
		t.Skipf("needs two CPUs, has %s", free)
	}
	one := cpus[len(cpus)-1:].String()
	if err := m.Confine(t.Context(), platform.Confinement{Affinity: one}); err != nil {
		t.Fatal(err)
	}
	if got := allowed(true); got != one {
		t.Errorf("worker may run on %s, want %s", got, one)
	}
	if got := allowed(false); got != free {
		t.Errorf("another command may run on %s, want %s", got, free)
	}
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil || set.Count() != len(cpus) {
		t.Errorf("plimsoll itself is left on %d CPUs, %v", set.Count(), err)
	}
	if err := m.Confine(t.Context(), platform.Confinement{}); err != nil {
		t.Fatal(err)
	}
	if got := allowed(true); got != free {
		t.Errorf("after the confinement the worker may run on %s, want %s", got, free)
	}
}

func TestManyCommandsAtOnceAreConfinedAlike(t *testing.T) {
	m := opened(t)
	if err := m.Confine(t.Context(), platform.Confinement{Affinity: "0"}); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			worker := i%2 == 0
			r, err := m.Run(t.Context(), platform.Command{Argv: []string{"grep", "Cpus_allowed_list", "/proc/self/status"}, Worker: worker})
			if one := strings.HasSuffix(string(r.Stdout), "\t0\n"); err != nil || one != worker && runtime.NumCPU() > 1 {
				t.Errorf("worker %v: got %s, %v", worker, r.Stdout, err)
			}
			if _, err := m.Run(t.Context(), platform.Command{Argv: []string{"/nowhere/program"}, Worker: worker}); err == nil {
				t.Error("an absent program ran")
			}
		})
	}
	group.Wait()
}

func TestConfinableRefuses(t *testing.T) {
	m := opened(t)
	for want, c := range map[string]platform.Confinement{
		"CPU 4000 is not online here": {Affinity: "0,4000"},
		"is not a CPU list":           {CPUSet: "some"},
		"is not a number of CPUs":     {Quota: "lots"},
	} {
		if err := m.Confinable(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", c, err, want)
		}
		if err := m.Confine(t.Context(), c); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
	if m.Confinement() != (platform.Confinement{}) {
		t.Errorf("left %+v", m.Confinement())
	}
}

func TestQuota(t *testing.T) {
	for text, want := range map[string]int64{"1.5": 150000, "0.01": 1000, "16": 1600000} {
		if got, err := quota(text); err != nil || got != want {
			t.Errorf("%s: got %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "0.001", "-1", "NaN", "Inf", "1e30", "x"} {
		if got, err := quota(text); err == nil {
			t.Errorf("%q passed as %d", text, got)
		}
	}
}

// recorded is a cgroup file system made of plain files.
func recorded(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func plainWrite(name, text string) error {
	return os.WriteFile(name, []byte(strings.TrimSpace(text)), 0o644)
}

func mustContain(t *testing.T, name, want string) {
	t.Helper()
	if got, err := os.ReadFile(name); err != nil || string(got) != want {
		t.Errorf("%s holds %q, want %q (%v)", name, got, want, err)
	}
}

func TestVersion2TakesTheNearestGroupThatServes(t *testing.T) {
	root := recorded(t, map[string]string{
		"cgroup.controllers":                                 "cpuset cpu io memory\n",
		"cgroup.subtree_control":                             "cpu memory\n",
		"user.slice/cgroup.subtree_control":                  "cpu memory\n",
		"user.slice/session-3.scope/cgroup.subtree_control":  "\n",
		"user.slice/session-3.scope/deeper/cgroup.freeze":    "0\n",
		"user.slice/session-3.scope/deeper/cgroup.max.depth": "max\n",
	})
	h := &hierarchies{
		mountinfo:  []byte("31 23 0:28 / " + root + " rw,relatime - cgroup2 cgroup2 rw\n"),
		membership: []byte("0::/user.slice/session-3.scope\n"),
		name:       "plimsoll-1-2-3", write: plainWrite,
	}
	groups, err := h.place(platform.Confinement{Quota: "1.5"})
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(root, "user.slice/plimsoll-1-2-3")
	if len(groups) != 1 || groups[0].folder != folder || groups[0].enable != "" || groups[0].version != 2 {
		t.Fatalf("got %+v", groups)
	}
	if err := h.fill(groups[0], platform.Confinement{Quota: "1.5"}); err != nil {
		t.Fatal(err)
	}
	mustContain(t, filepath.Join(folder, "cpu.max"), "150000 100000")

	// No group has the CPU sets on: they are switched on at the top.
	both := platform.Confinement{Quota: "2", CPUSet: "0"}
	groups, err = h.place(both)
	if err != nil {
		t.Fatal(err)
	}
	folder = filepath.Join(root, "plimsoll-1-2-3")
	if len(groups) != 1 || groups[0].folder != folder {
		t.Fatalf("got %+v", groups)
	}
	if err := h.fill(groups[0], both); err != nil {
		t.Fatal(err)
	}
	mustContain(t, filepath.Join(root, "cgroup.subtree_control"), "+cpuset +cpu")
	mustContain(t, filepath.Join(folder, "cpuset.cpus"), "0")
	mustContain(t, filepath.Join(folder, "cpu.max"), "200000 100000")
}

func TestVersion2WithoutTheController(t *testing.T) {
	root := recorded(t, map[string]string{"cgroup.controllers": "io\n", "cgroup.subtree_control": "\n"})
	h := &hierarchies{
		mountinfo:  []byte("31 23 0:28 / " + root + " rw - cgroup2 cgroup2 rw\n"),
		membership: []byte("0::/\n"), name: "plimsoll-1-2-3", write: plainWrite,
	}
	_, err := h.place(platform.Confinement{CPUSet: "0"})
	if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "cpuset") {
		t.Errorf("got %v", err)
	}
}

func TestVersion1TakesAGroupInEachHierarchy(t *testing.T) {
	root := recorded(t, map[string]string{"cpu/lab/tasks": "", "cpuset/cpuset.mems": "0-1\n"})
	h := &hierarchies{
		mountinfo: []byte("32 31 0:29 / " + root + "/cpu rw - cgroup cgroup rw,cpu,cpuacct\n" +
			"34 31 0:31 / " + root + "/cpuset rw - cgroup cgroup rw,cpuset\n" +
			"41 31 0:38 / " + root + "/unified rw - cgroup2 cgroup2 rw\n"),
		membership: []byte("3:cpuset:/\n1:cpu,cpuacct:/lab\n0::/\n"),
		name:       "plimsoll-1-2-3", write: plainWrite,
	}
	c := platform.Confinement{Quota: "0.5", CPUSet: "1"}
	groups, err := h.place(c)
	if err != nil || len(groups) != 2 {
		t.Fatalf("got %+v, %v", groups, err)
	}
	for _, g := range groups {
		if err := h.fill(g, c); err != nil {
			t.Fatal(err)
		}
	}
	mustContain(t, filepath.Join(root, "cpuset/plimsoll-1-2-3/cpuset.cpus"), "1")
	mustContain(t, filepath.Join(root, "cpuset/plimsoll-1-2-3/cpuset.mems"), "0-1")
	mustContain(t, filepath.Join(root, "cpu/lab/plimsoll-1-2-3/cpu.cfs_quota_us"), "50000")
	mustContain(t, filepath.Join(root, "cpu/lab/plimsoll-1-2-3/cpu.cfs_period_us"), "100000")
}

func TestOnlyGroupsOfTheDeadAreAbandoned(t *testing.T) {
	own, err := ownName()
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(own, "-")
	space, pid, start := parts[1], parts[2], parts[3]
	for name, want := range map[string]bool{
		own:                                    false,
		groupPrefix + space + "-" + pid + "-1": true, // a former process of our number
		groupPrefix + space + "-4194305-" + start: true,  // beyond the largest PID
		groupPrefix + "1-4194305-" + start:        false, // of another PID namespace
		groupPrefix + space + "-" + pid:           false,
		"plimsoll":                                false,
		"system.slice":                            false,
	} {
		if got := abandoned(name, own); got != want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func real(t *testing.T) {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to change this machine and put it back")
	}
	if os.Getuid() != 0 {
		t.Skip("run as root to make control groups")
	}
}

// ours lists the control groups of any plimsoll on this machine.
func ours(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{"/sys/fs/cgroup/plimsoll-*", "/sys/fs/cgroup/*/plimsoll-*"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, names...)
	}
	return found
}

func TestRealControlGroups(t *testing.T) {
	real(t)
	m := opened(t)
	if err := m.Confinable(t.Context(), platform.Confinement{CPUSet: "0", Quota: "1"}); err != nil {
		t.Skip(err)
	}
	own, err := ownName()
	if err != nil {
		t.Fatal(err)
	}
	status := func() string {
		t.Helper()
		r, err := m.Run(t.Context(), platform.Command{Argv: []string{"cat", "/proc/self/cgroup", "/proc/self/status"}, Worker: true})
		if err != nil {
			t.Fatal(err)
		}
		return string(r.Stdout)
	}
	before := status()
	if strings.Contains(before, own) {
		t.Error("a worker is confined before anything was asked")
	}
	_, all, _ := strings.Cut(before, "Cpus_allowed_list:\t")
	all, _, _ = strings.Cut(all, "\n")
	if cpus, err := platform.ParseCPUs(all); err != nil || len(cpus.Without(platform.CPUs{0, 1})) != len(cpus)-2 {
		t.Skipf("needs CPUs 0 and 1, has %s", all)
	}
	for _, step := range []struct {
		c      platform.Confinement
		groups int
		cpus   string
	}{
		{platform.Confinement{Quota: "0.5"}, 1, all},
		{platform.Confinement{Quota: "0.5", CPUSet: "1"}, 2, "1"},
		{platform.Confinement{Quota: "0.7", CPUSet: "0-1", Affinity: "0"}, 2, "0"},
		{platform.Confinement{Affinity: "1"}, 0, "1"},
		{platform.Confinement{}, 0, all},
	} {
		if err := m.Confine(t.Context(), step.c); err != nil {
			t.Fatalf("%+v: %v", step.c, err)
		}
		text := status()
		if got := strings.Count(text, own); got != step.groups {
			t.Errorf("%+v: in %d groups of ours, want %d", step.c, got, step.groups)
		}
		if !strings.Contains(text, "Cpus_allowed_list:\t"+step.cpus+"\n") {
			t.Errorf("%+v: want CPUs %s in\n%s", step.c, step.cpus, text)
		}
	}
	for _, name := range ours(t) {
		if strings.HasSuffix(name, own) {
			t.Errorf("%s is left", name)
		}
	}
}

func TestRealVersion2Entry(t *testing.T) {
	real(t)
	mount := ""
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for at := range platform.Mounts(mounts) {
		if at.Type == "cgroup2" && mount == "" {
			mount = at.Point
		}
	}
	if mount == "" {
		t.Skip("no control groups of version 2 are mounted")
	}
	own, err := ownName()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(mount, own)
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	m := opened(t)
	m.groups = []group{{version: 2, folder: folder}}
	m.confine = platform.Confinement{Quota: "1"}
	r, err := m.Run(t.Context(), platform.Command{Argv: []string{"cat", "/proc/self/cgroup"}, Worker: true})
	if err != nil || !strings.Contains(string(r.Stdout), "0::/"+own+"\n") {
		t.Errorf("got %s, %v", r.Stdout, err)
	}
	if err := m.Confine(t.Context(), platform.Confinement{}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the group is left: %v", err)
	}
}

func TestRealLeftoversGo(t *testing.T) {
	real(t)
	if err := opened(t).Confinable(t.Context(), platform.Confinement{Quota: "1"}); err != nil {
		t.Skip(err)
	}
	cmd, workers := victim(t, "LOCAL_TEST_QUOTA=1.5")
	before := ours(t)
	if len(before) == 0 {
		t.Fatal("the victim made no control group")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	mustDie(t, workers)
	opened(t)
	for _, name := range ours(t) {
		if strings.Contains(name, "-"+strings.Split(before[0], "-")[2]+"-") {
			t.Errorf("%s is left", name)
		}
	}
}

func TestCPUsOfProcStat(t *testing.T) {
	for _, c := range []struct{ stat, want string }{
		{"cpu  1 2 3\ncpu0 1 2\ncpu1 1 2\ncpu3 1 2\nintr 9\nctxt 1\n", "0-1,3"},
		{"cpu  1 2 3\ncpu0 1 2\n", "0"},
	} {
		if got, err := cpusOf(c.stat); err != nil || got.String() != c.want {
			t.Errorf("%q: got %s, %v, want %s", c.stat, got, err, c.want)
		}
	}
	for _, text := range []string{"", "cpu 1\n", "cpux 1\n"} {
		if got, err := cpusOf(text); err == nil {
			t.Errorf("%q: got %s", text, got)
		}
	}
}
