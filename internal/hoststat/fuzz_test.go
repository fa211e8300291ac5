package hoststat_test

import (
	"testing"
	"testing/fstest"

	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/hoststattest"
	"plimsoll/internal/hoststat/interval"
)

// Whatever files of a host hold, two readings and the interval between them end without a panic,
// and no rate is negative.
func FuzzReading(f *testing.F) {
	f.Add("7 (a) b) S 1 7 7 0 -1 4194560 10 0 2 0 1 5 0 0 20 0 1 0 100 1000 50 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 3 0 0 0 0 0 0 0 0 0 0 0 0 0\n", "5 6 7\n")
	f.Add("7 (a) S 1 7 7 0 -1 4194560 10 0 2 0 1 5 0 0 20 0 1 0 100 1000 50 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 99999999999 0 0 0 0 0 0 0 0 0 0 0 0 0\n", "202 0x7f 0x80 0x2 0x0 0x0")
	f.Add("cpu0 1 2 3 4 5 6 7 8 9 10\ncpu99999999 1 2 3 4 5 6 7 8\n", "anon N0=1 N99999999=1\n")
	f.Add("           CPU0\n 1: 5 x\n", "some avg10=0 total=99999999999999999999\n")
	f.Add("1 0 vda 1 2 3 4 5 6 7 8 9 10 11 12\n", "0::/a\n")
	f.Fuzz(func(t *testing.T, a, b string) {
		read := func(text, other string) *hoststat.State {
			file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
			files := fstest.MapFS{"proc/self/mountinfo": file("30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")}
			for _, name := range []string{
				"proc/stat", "proc/softirqs", "proc/interrupts", "proc/vmstat", "proc/meminfo", "proc/diskstats", "proc/net/dev", "proc/7/stat", "proc/7/task/7/stat",
				"sys/devices/system/node/node0/numastat", "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "proc/7/cgroup",
			} {
				files[name] = file(text)
			}
			for _, name := range []string{
				"proc/7/status", "proc/7/io", "proc/7/task/7/schedstat", "proc/7/task/7/syscall", "proc/7/task/7/status", "proc/pressure/cpu", "sys/devices/system/node/node1/numastat",
				"sys/fs/cgroup/a/cpu.stat", "sys/fs/cgroup/a/cpu.max", "sys/fs/cgroup/a/memory.numa_stat", "sys/fs/cgroup/a/memory.stat", "sys/fs/resctrl/mon_data/m/mbm_total_bytes",
			} {
				files[name] = file(other)
			}
			files["proc/7/task/7/wchan"] = file("futex_do_wait")
			r := hoststat.NewReader(hoststattest.Tree(files))
			r.Step()
			s := r.Read(float64(len(text)))
			r.Step()
			return s
		}
		first, last := read(a, b), read(b, a)
		last.At = first.At + 1
		i := interval.Between(first, last)
		for _, c := range i.CPUs {
			if c.Busy() < 0 || c.Total() < 0 {
				t.Errorf("CPU %+v", c)
			}
		}
		for _, p := range i.Processes {
			if p.Busy() < 0 || p.RunDelay < 0 {
				t.Errorf("process %+v", p)
			}
		}
	})
}
