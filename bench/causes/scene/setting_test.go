package scene

import (
	"os"
	"path/filepath"
	"testing"
)

// A control group has its limits in the files of the hierarchy's version.
func TestGroupsOfBothVersions(t *testing.T) {
	for name, c := range map[string]struct {
		unified bool
		want    map[string]string
	}{
		"first": {false, map[string]string{
			"cpu/g/cpu.cfs_quota_us": "25000", "cpuset/g/cpuset.cpus": "2", "cpuset/g/cpuset.mems": "0", "memory/g/memory.limit_in_bytes": "4096",
		}},
		"second": {true, map[string]string{
			"cgroup.subtree_control": "+memory", "g/cpu.max": "25000 100000", "g/cpuset.cpus": "2", "g/memory.max": "4096",
		}},
	} {
		root := t.TempDir()
		for _, f := range []string{"cpu/", "cpuset/cpuset.cpus", "cpuset/cpuset.mems", "memory/"} {
			if err := os.MkdirAll(filepath.Join(root, filepath.Dir(f+"x")), 0o755); err != nil {
				t.Fatal(err)
			}
			if filepath.Base(f+"x") != "x" {
				put(t, filepath.Join(root, f), "0\n")
			}
		}
		if c.unified {
			put(t, filepath.Join(root, "cgroup.controllers"), "cpu cpuset memory")
		}
		var s Scene
		g, err := s.group(root, "g", "cpu", "cpuset", "memory")
		if err != nil {
			t.Fatalf("%s version: %v", name, err)
		}
		for _, err := range []error{g.Quota(25), g.CPUs("2"), g.Memory(4096)} {
			if err != nil {
				t.Errorf("%s version: %v", name, err)
			}
		}
		for file, want := range c.want {
			if got, err := os.ReadFile(filepath.Join(root, file)); string(got) != want {
				t.Errorf("%s version: %s has %q, want %q: %v", name, file, got, want, err)
			}
		}
		if n := len(g.files); c.unified != (n == 1) {
			t.Errorf("%s version: processes enter by %d files", name, n)
		}
	}
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// What is undone comes in reverse order, all of it, whatever fails.
func TestSettingsComeBack(t *testing.T) {
	file := filepath.Join(t.TempDir(), "enabled")
	put(t, file, "always [madvise] never\n")
	var s Scene
	if err := s.Set(file, "never"); err != nil {
		t.Fatal(err)
	}
	s.Undo(func() error { return os.ErrClosed })
	if now, _ := os.ReadFile(file); string(now) != "never" {
		t.Errorf("the setting is %q", now)
	}
	if err := s.Close(); err == nil {
		t.Error("a failure to undo is not told")
	}
	if now, _ := os.ReadFile(file); string(now) != "madvise" {
		t.Errorf("the setting is %q after all, want madvise", now)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}

// Sizes of a workload do not depend on whether its cause is made, or on the order in which they are asked for.
func TestSizesFollowTheSeed(t *testing.T) {
	one, other := Scene{seed: 7, Made: true}, Scene{seed: 7}
	one.Between(1, 100)
	seen := map[int]bool{}
	for n := range 50 {
		a, b := one.Between(5, 9+n), other.Between(5, 9+n)
		if a != b || a < 5 || a > 9+n {
			t.Errorf("from 5 to %d: %d and %d", 9+n, a, b)
		}
		seen[(&Scene{seed: uint64(n)}).Between(5, 9)] = true
	}
	if len(seen) != 5 {
		t.Errorf("50 seeds have only the sizes %v", seen)
	}
}
