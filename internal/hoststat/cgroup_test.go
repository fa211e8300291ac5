package hoststat_test

import (
	"testing"
	"testing/fstest"

	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/hoststattest"
	"plimsoll/internal/hoststat/interval"
)

// quota is a host with a process in a group of version 2 with a quota of two CPUs.
func quota(ticks, throttled string) hoststat.Root {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	return hoststattest.Tree(fstest.MapFS{
		"proc/stat":                            file("cpu0 " + ticks + " 0 0 0 0 0 0 0 0 0\n"),
		"proc/self/mountinfo":                  file("30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
		"proc/7/stat":                          file("7 (a) b) R 1 7 7 0 -1 4194560 10 " + ticks + " 2 0 " + ticks + " 5 " + ticks + " " + ticks + " 20 -5 1 0 100 1000 50 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 3 1 0 0 0 0 0 0 0 0 0 0 0 0\n"),
		"proc/7/status":                        file("Name:\ta\nCpus_allowed_list:\t0-3\n"),
		"proc/7/cgroup":                        file("0::/db.service\n"),
		"sys/fs/cgroup/db.service/cpu.max":     file("200000 100000\n"),
		"sys/fs/cgroup/db.service/cpu.weight":  file("20\n"),
		"sys/fs/cgroup/db.service/cpu.stat":    file("usage_usec 5000000\nnr_periods 100\nnr_throttled 50\nthrottled_usec " + throttled + "\n"),
		"sys/fs/cgroup/db.service/memory.max":  file("max\n"),
		"sys/fs/cgroup/db.service/memory.stat": file("anon 1\nworkingset_refault_file 3\n"),
	})
}

// A recorded host with a quota of version 2 is read, and two readings make rates.
func TestGroupWithQuota(t *testing.T) {
	var series interval.Series
	series.Add(hoststat.NewReader(quota("1000", "1000000")).Read(0))
	series.Add(hoststat.NewReader(quota("1200", "2500000")).Read(1))
	mean := series.Mean()
	if len(mean.Processes) != 1 || mean.Processes[0].Name != "a) b" || mean.Processes[0].Busy() != 2 || mean.Processes[0].Group != "/db.service" {
		t.Errorf("processes %+v", mean.Processes)
	}
	if p := mean.Processes[0]; p.Nice != -5 || p.Policy != 1 || p.Session != 7 {
		t.Errorf("nice %d, policy %d, session %d", p.Nice, p.Policy, p.Session)
	}
	if p := mean.Processes[0]; p.Reaped != 4 || p.Faulted != 200 {
		t.Errorf("children that ended used %g CPU seconds and had %g faults", p.Reaped, p.Faulted)
	}
	for _, g := range mean.Groups {
		if g.Path == "/db.service" && g.Quota == 2 && g.Throttled == 1.5 && g.MemoryLimit == 0 && g.Weight == 20 {
			return
		}
	}
	t.Errorf("groups %+v", mean.Groups)
}

// laptop is a host with one CPU of cpufreq and cpuidle, and a package with a power limit.
func laptop(usage, throttled, energy string) hoststat.Root {
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"proc/stat":           "cpu0 1 0 0 0 0 0 0 0 0 0\n",
		"proc/7/stat":         "7 (a) S\n",
		"proc/self/mountinfo": "",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq":                     "1800000\n",
		"sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count":         "4\n",
		"sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_total_time_ms": throttled,
		"sys/devices/system/cpu/cpu0/cpuidle/state0/name":                          "POLL\n",
		"sys/devices/system/cpu/cpu0/cpuidle/state1/name":                          "C6\n",
		"sys/devices/system/cpu/cpu0/cpuidle/state1/latency":                       "133\n",
		"sys/devices/system/cpu/cpu0/cpuidle/state1/usage":                         usage,
		"sys/devices/system/cpu/cpu0/cpuidle/state1/time":                          "1000000\n",
		"sys/class/powercap/intel-rapl:0/energy_uj":                                energy,
		"sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw":              "15000000\n",
		"sys/fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes":                        energy,
		"sys/fs/resctrl/mon_data/mon_L3_00/llc_occupancy":                          "4096\n",
		"sys/class/powercap/intel-rapl:0:0/energy_uj":                              "1\n",
	} {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return hoststattest.Tree(files)
}

// Frequencies and idle states are read, and between two readings the rates are over their own
// distance.
func TestPower(t *testing.T) {
	a, b := hoststat.NewReader(laptop("100\n", "0\n", "5000000\n")).Read(0), hoststat.NewReader(laptop("10100\n", "2000\n", "145000000\n")).Read(10)
	i := interval.Between(a, b)
	p := i.Power
	if len(i.Caches) != 1 || i.Caches[0].Bytes != 14e6 || i.Caches[0].Occupied != 4096 {
		t.Errorf("caches %+v", i.Caches)
	}
	if p == nil || len(p.CPUs) != 1 || len(p.CPUs[0].Idle) != 2 || len(p.Domains) != 1 {
		t.Fatalf("power %+v", p)
	}
	if c := p.CPUs[0]; c.Frequency != 1.8e9 || c.Throttled != 0.2 || c.Throttles != 0 || c.Idle[1].Usage != 1000 || c.Idle[1].Latency != 133e-6 || p.Domains[0].Power != 14 || p.Domains[0].Limit != 15 {
		t.Errorf("power %+v", p)
	}
	if quota := hoststat.NewReader(quota("1", "1")).Read(0); quota.Missing["power"] == "" {
		t.Error("a VM without frequencies has power readings")
	}
}

// Settings of a group are read again after a few seconds, and counters each time.
func TestGroupSettings(t *testing.T) {
	files := fstest.MapFS{}
	write := func(name, text string) { files[name] = &fstest.MapFile{Data: []byte(text)} }
	write("proc/stat", "cpu0 1 0 0 0 0 0 0 0 0 0\n")
	write("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
	reader := hoststat.NewReader(hoststattest.Tree(files))
	reader.Members = []string{"0::/db.service\n"}
	for _, reading := range []struct {
		at            float64
		cpuMax, usage string
		quota, used   float64
		memoryMax     string
		memoryLimit   float64
	}{
		{0, "200000 100000\n", "usage_usec 1000000\n", 2, 1, "max\n", 0},
		{1, "100000 100000\n", "usage_usec 3000000\n", 2, 3, "4096\n", 0},
		{5, "100000 100000\n", "usage_usec 4000000\n", 1, 4, "4096\n", 4096},
		{6, "max 100000\n", "usage_usec 5000000\n", 1, 5, "max\n", 4096},
		{10, "max 100000\n", "usage_usec 5000000\n", 0, 5, "max\n", 0},
	} {
		write("sys/fs/cgroup/db.service/cpu.max", reading.cpuMax)
		write("sys/fs/cgroup/db.service/cpu.stat", reading.usage)
		write("sys/fs/cgroup/db.service/memory.max", reading.memoryMax)
		found := false
		for _, g := range reader.Read(reading.at).Groups {
			if g.Path != "/db.service" {
				continue
			}
			found = true
			if g.Quota != reading.quota || g.Usage != reading.used || g.MemoryLimit != reading.memoryLimit {
				t.Errorf("at %g s: quota %g, usage %g, memory limit %g, want %g, %g, %g", reading.at, g.Quota, g.Usage, g.MemoryLimit, reading.quota, reading.used, reading.memoryLimit)
			}
		}
		if !found {
			t.Errorf("at %g s: the group is not there", reading.at)
		}
	}
}
