package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"plimsoll/internal/hosttest"
)

// A setting that the kernel changes along with another one is put back with it, whichever of them the study varies and however the run ends.
func TestCoupledSettingsArePutBack(t *testing.T) {
	if !alone(t) {
		return
	}
	for _, file := range []string{"dirty_ratio", "dirty_bytes", "dirty_background_ratio", "dirty_background_bytes", "overcommit_ratio", "overcommit_kbytes", "min_free_kbytes"} {
		pairKept(t, "/proc/sys/vm/"+file)
	}
	pairKept(t, "/sys/kernel/mm/transparent_hugepage/enabled")
	sh(t, "mkdir -m 700 /var/lib/plimsoll/undo")
	queue, device := loopDevice(t)
	const lo = "/proc/sys/net/ipv4/conf/lo/forwarding"
	tests := []struct {
		before, factor string
		levels         string
		watch          string // a file that the first level changes
	}{
		{"echo 104857600 >/proc/sys/vm/dirty_background_bytes", "host.sysctl:vm.dirty_background_ratio", "3 4", "/proc/sys/vm/dirty_background_ratio"},
		{"echo 7 >/proc/sys/vm/dirty_background_ratio", "host.sysctl:vm.dirty_background_bytes", "50000000 60000000", "/proc/sys/vm/dirty_background_bytes"},
		{"echo 904857600 >/proc/sys/vm/dirty_bytes", "host.sysctl:vm.dirty_ratio", "13 14", "/proc/sys/vm/dirty_ratio"},
		{"echo 17 >/proc/sys/vm/dirty_ratio", "host.sysctl:vm.dirty_bytes", "950000000 960000000", "/proc/sys/vm/dirty_bytes"},
		{"echo 40 >/proc/sys/vm/overcommit_ratio", "host.sysctl:vm.overcommit_kbytes", "9000000 9100000", "/proc/sys/vm/overcommit_kbytes"},
		{"echo 9000000 >/proc/sys/vm/overcommit_kbytes", "host.sysctl:vm.overcommit_ratio", "41 42", "/proc/sys/vm/overcommit_ratio"},
		{"echo madvise >/sys/kernel/mm/transparent_hugepage/enabled; echo 61234 >/proc/sys/vm/min_free_kbytes", "host.transparent_hugepages", "never always", "/sys/kernel/mm/transparent_hugepage/enabled"},
		{"echo mq-deadline >" + queue + "/scheduler; echo 77 >" + queue + "/nr_requests; echo 333 >" + queue + "/iosched/read_expire", "host.scheduler:" + device, "none mq-deadline", queue + "/scheduler"},
		{"echo kyber >" + queue + "/scheduler; echo 99 >" + queue + "/nr_requests; echo 3333333 >" + queue + "/iosched/read_lat_nsec", "host.scheduler:" + device, "bfq none", queue + "/scheduler"},
		{"echo 1 >" + lo, "host.sysctl:net.ipv4.ip_forward", "1 0", "/proc/sys/net/ipv4/ip_forward"},
		{"echo 1 >" + lo, "host.sysctl:net.ipv4.conf.default.accept_local", "1 0", "/proc/sys/net/ipv4/conf/default/accept_local"},
		{"", "host.sysctl:net.ipv4.neigh.lo.retrans_time_ms", "1234 2345", "/proc/sys/net/ipv4/neigh/lo/retrans_time_ms"},
		{"", "host.sysctl:net.ipv6.conf.all.forwarding", "1 0", "/proc/sys/net/ipv6/conf/all/forwarding"},
	}
	for _, test := range tests {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s killed=%v", test.factor, killed), func(t *testing.T) {
				if _, err := os.Stat(test.watch); err != nil {
					t.Skip(err)
				}
				sh(t, "true; "+test.before)
				l := newLab(t)
				host := hosttest.Watch(t, l.dir)
				from := value(t, test.watch)
				l.write("study.yaml", studyOf(test.factor, strings.Fields(test.levels)...))
				c, said := l.start("run", "study.yaml", "--quiet", "--out", "out")
				l.until(test.watch, from)
				if killed {
					l.kill(c)
					l.plimsoll(0, "restore")
				} else {
					_ = c.Process.Signal(os.Interrupt)
					l.ended(c, said, 3)
				}
				host.Unchanged(t)
			})
		}
	}
}

// pairKept is kept for settings that exclude each other: what is 0 is left to the other one.
func pairKept(t *testing.T, file string) {
	t.Helper()
	former := value(t, file)
	if word, rest, found := strings.Cut(former, "["); found {
		former, _, _ = strings.Cut(rest, "]")
		_ = word
	}
	t.Cleanup(func() {
		if former != "0" {
			_ = os.WriteFile(file, []byte(former), 0o644)
		}
	})
}

// loopDevice is a block device of the test's own.
func loopDevice(t *testing.T) (queue, name string) {
	t.Helper()
	image := t.TempDir() + "/image"
	sh(t, "truncate -s 64M "+image)
	out, err := exec.Command("losetup", "--find", "--show", image).CombinedOutput()
	if err != nil {
		t.Skipf("no loop device: %v: %s", err, out)
	}
	node := strings.TrimSpace(string(out))
	t.Cleanup(func() { sh(t, "losetup -d "+node) })
	name = strings.TrimPrefix(node, "/dev/")
	former := value(t, "/sys/block/"+name+"/queue/scheduler")
	_, rest, _ := strings.Cut(former, "[")
	former, _, _ = strings.Cut(rest, "]")
	t.Cleanup(func() { sh(t, "echo "+former+" >/sys/block/"+name+"/queue/scheduler") })
	return "/sys/block/" + name + "/queue", name
}

// What could not be restored is refused before anything is touched.
func TestWhatCannotBePutBackIsRefused(t *testing.T) {
	if !alone(t) {
		return
	}
	pairKept(t, "/proc/sys/vm/dirty_background_ratio")
	two := func(a, b string) string {
		return strings.Replace(studyOf(a, "1", "2"), "measure:", "  "+b+": [1, 2]\nmeasure:", 1)
	}
	tests := []struct{ before, study, want string }{
		{"echo 0 >/proc/sys/vm/dirty_background_ratio", studyOf("host.sysctl:vm.dirty_background_bytes", "50000000", "60000000"), "are both 0, and the kernel rejects 0 for it"},
		{"", studyOf("host.sysctl:kernel.modules_disabled", "0", "1"), "could not be restored after the run: the kernel does not let it return"},
		{"", studyOf("host.sysctl:kernel.unprivileged_bpf_disabled", "0", "1"), "could not be restored"},
		{"", studyOf("host.sysctl:vm.drop_caches", "1", "3"), "it is a command to the kernel"},
		{"", studyOf("host.sysctl:net.ipv6.conf.lo.disable_ipv6", "0", "1"), "drops addresses and routes"},
		{"", two("host.sysctl:vm.dirty_ratio", "host.sysctl:vm.dirty_bytes"), "changes host.sysctl:vm.dirty"},
		{"", two("host.sysctl:net.ipv4.ip_forward", "host.sysctl:net.ipv4.conf.all.forwarding"), "are the same setting"},
	}
	for _, test := range tests {
		sh(t, "true; "+test.before)
		l := newLab(t)
		host := hosttest.Watch(t, l.dir)
		l.write("study.yaml", test.study)
		for _, verb := range []string{"plan", "run"} {
			if said := l.plimsoll(2, verb, "study.yaml"); !strings.Contains(said, test.want) {
				t.Errorf("%s says %s, want %s", verb, said, test.want)
			}
		}
		host.Unchanged(t)
	}
}
