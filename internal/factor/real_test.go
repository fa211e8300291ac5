package factor_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/factor"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
)

// TestRealFactors sets, reads back and puts back every factor on this machine.
func TestRealFactors(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to change settings of this machine and put them back")
	}
	if os.Getuid() != 0 {
		t.Skip("run as root to change settings of this machine")
	}
	p, err := local.Kind().Open(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	m := p.Machine()
	loop := loopDevice(t)
	for _, test := range []struct {
		factor factor.Factor
		target string
		levels []string
		file   string // that shows the setting to anybody
	}{
		{factor.Scheduler(), loop, []string{"mq-deadline", "none"}, "/sys/block/" + loop + "/queue/scheduler"},
		{factor.ReadAhead(), loop, []string{"256KiB", "0B"}, "/sys/block/" + loop + "/queue/read_ahead_kb"},
		{factor.TransparentHugePages(), "", []string{"always", "never", "madvise"}, "/sys/kernel/mm/transparent_hugepage/enabled"},
		{factor.Sysctl(), "vm.dirty_expire_centisecs", []string{"2900", "3100"}, "/proc/sys/vm/dirty_expire_centisecs"},
		{factor.Affinity(), "", []string{"0", "1", "free"}, "/proc/self/cgroup"},
		{factor.CPUSet(), "", []string{"1", "0-1", "free"}, "/proc/self/cgroup"},
		{factor.Quota(), "", []string{"0.5", "1.25", "none"}, "/proc/self/cgroup"},
		{factor.GROFlushTimeout(), "lo", []string{"50µs"}, "/sys/class/net/lo/gro_flush_timeout"},
		{factor.NAPIDeferral(), "lo", []string{"2"}, "/sys/class/net/lo/napi_defer_hard_irqs"},
		{factor.ReceivePacketSteering(), "lo", []string{"0-1", "none"}, "/sys/class/net/lo/queues/rx-0/rps_cpus"},
		{factor.ReceivePacketSteering(), "", []string{"1", "none"}, "/sys/class/net/lo/queues/rx-0/rps_cpus"},
	} {
		t.Run(test.factor.Name, func(t *testing.T) {
			place := factor.Env{Machine: m, Target: test.target, Dir: t.TempDir()}
			before, err := test.factor.Get(t.Context(), place)
			if errors.Is(err, errors.ErrUnsupported) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			shown := contents(t, test.file)
			t.Cleanup(func() {
				if now := contents(t, test.file); now != shown {
					t.Errorf("%s holds %q, was %q", test.file, now, shown)
				}
			})
			for _, level := range append(test.levels, before) {
				if got, err := test.factor.Accept(t.Context(), place, level); err != nil || got != level {
					t.Errorf("accept %q: %q, %v", level, got, err)
				}
				if err := test.factor.Set(t.Context(), place, level); err != nil {
					t.Fatal(err)
				}
				if got, err := test.factor.Get(t.Context(), place); err != nil || got != level {
					t.Errorf("read back %q, %v, want %q", got, err, level)
				}
			}
		})
	}
}

// A worker without a quota, or free to use all CPUs, runs in a control group as one with a
// level does: in the same place, with the same weight. Restored, it runs in none.
func TestRealBaselineHasAGroupToo(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" || os.Getuid() != 0 {
		t.Skip("set PLIMSOLL_REAL=1 and run as root to make control groups")
	}
	p, err := local.Kind().Open(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, test := range []struct {
		factor          factor.Factor
		baseline, other string
	}{{factor.Quota(), "none", "0.5"}, {factor.CPUSet(), "free", "0"}} {
		place := factor.Env{Machine: p.Machine()}
		groups := func() string {
			r, err := p.Machine().Run(t.Context(), platform.Command{Argv: []string{"cat", "/proc/self/cgroup"}, Worker: true})
			if err != nil {
				t.Fatal(err)
			}
			return string(r.Stdout)
		}
		outside := groups()
		var in [2]string
		for i, level := range []string{test.baseline, test.other} {
			if _, err := test.factor.Accept(t.Context(), place, level); errors.Is(err, errors.ErrUnsupported) {
				t.Skip(err)
			}
			if err := test.factor.Set(t.Context(), place, level); err != nil {
				t.Fatal(err)
			}
			if got, err := test.factor.Get(t.Context(), place); err != nil || got != level {
				t.Errorf("%s: read back %q, %v, want %q", test.factor.Name, got, err, level)
			}
			in[i] = groups()
		}
		if in[0] != in[1] || in[0] == outside {
			t.Errorf("%s: groups at the baseline\n%sand at %s\n%s", test.factor.Name, in[0], test.other, in[1])
		}
		if err := test.factor.RestoreLevel(t.Context(), place, test.baseline); err != nil || groups() != outside {
			t.Errorf("%s: restored to\n%s(%v), was\n%s", test.factor.Name, groups(), err, outside)
		}
	}
}

// The device below a scratch folder is found and read, never set.
func TestRealDeviceUnderAFolder(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to look at the disks of this machine")
	}
	p, err := local.Kind().Open(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	d, err := platform.DeviceUnder(t.Context(), p.Machine(), t.TempDir())
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join("/sys/block", d.Name)); err != nil {
		t.Errorf("%+v is no whole device: %v", d, err)
	}
}

func contents(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// loopDevice makes a block device of a file.
func loopDevice(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(file, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("losetup", "--find", "--show", file).Output()
	if err != nil {
		t.Skipf("losetup cannot make a loop device here: %v", err)
	}
	node := strings.TrimSpace(string(out))
	t.Cleanup(func() {
		if out, err := exec.Command("losetup", "--detach", node).CombinedOutput(); err != nil {
			t.Errorf("detach %s: %v: %s", node, err, out)
		}
	})
	return strings.TrimPrefix(node, "/dev/")
}
