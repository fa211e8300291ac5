package factor

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/platform"
)

func TestSetIsReadBackAndPutBack(t *testing.T) {
	tests := []struct {
		factor      Factor
		target, dir string
		before      string
		levels      []string
	}{
		{Scheduler(), "", "/srv/scratch", "mq-deadline", []string{"none", "kyber"}},
		{Scheduler(), "sdb", "", "none", []string{"mq-deadline"}},
		{Scheduler(), "/dev/sda1", "", "mq-deadline", []string{"bfq"}},
		{Scheduler(), "", "/mnt/volume", "mq-deadline", []string{"none"}},
		{Scheduler(), "", "/mnt/btrfs/not/yet/made", "none", []string{"mq-deadline"}},
		{ReadAhead(), "", "/srv/scratch", "128KiB", []string{"0B", "4MiB", "64KiB"}},
		{ReadAhead(), "", "/mnt/volume", "256KiB", []string{"4KiB"}},
		{TransparentHugePages(), "", "", "madvise", []string{"always", "never"}},
		{Sysctl(), "vm.dirty_ratio", "", "20", []string{"10"}},
		{Sysctl(), "net.ipv4.tcp_rmem", "", "4096 131072 6291456", []string{"4096 87380 6291456"}},
		{Sysctl(), "net.ipv4.conf.eth0/1.forwarding", "", "0", []string{"1"}},
		{Affinity(), "", "", "free", []string{"0", "1-3"}},
		{CPUSet(), "", "", "free", []string{"0,2"}},
		{Quota(), "", "", "none", []string{"1.5", "0.25"}},
		{Label(), "", "", "", []string{"A", "A again"}},
		{GROFlushTimeout(), "eth0", "", "0s", []string{"50µs", "1ms"}},
		{NAPIDeferral(), "eth0", "", "0", []string{"2", "10"}},
		{ReceivePacketSteering(), "eth0", "", "none", []string{"0-1", "1,33", "none"}},
		{ReceivePacketSteering(), "eth1", "", "2-3,32;none", []string{"0", "none;1"}},
		{ReceivePacketSteering(), "", "", "none;none;2-3,32;none", []string{"0", "none;none;0;1"}},
	}
	for _, test := range tests {
		t.Run(test.factor.Name+":"+test.target+test.dir, func(t *testing.T) {
			m := recorded(t)
			p := Env{Machine: m, Target: test.target, Dir: test.dir}
			get := func() string {
				t.Helper()
				level, err := test.factor.Get(t.Context(), p)
				if err != nil {
					t.Fatal(err)
				}
				return level
			}
			if got := get(); got != test.before {
				t.Fatalf("before: %q, want %q", got, test.before)
			}
			for _, level := range test.levels {
				if got, err := test.factor.Accept(t.Context(), p, level); err != nil || got != level {
					t.Errorf("accept %q: %q, %v", level, got, err)
				}
				if err := test.factor.Set(t.Context(), p, level); err != nil {
					t.Fatal(err)
				}
				if got := get(); got != level {
					t.Errorf("read back %q, want %q", got, level)
				}
			}
			if err := test.factor.RestoreLevel(t.Context(), p, test.before); err != nil {
				t.Fatal(err)
			}
			if got := get(); got != test.before {
				t.Errorf("put back: %q, want %q", got, test.before)
			}
		})
	}
}

func TestALieIsSeen(t *testing.T) {
	for _, test := range []struct {
		factor        Factor
		target, level string
	}{
		{Scheduler(), "sda", "none"},
		{ReadAhead(), "sda", "4KiB"},
		{TransparentHugePages(), "", "never"},
		{Sysctl(), "vm.dirty_ratio", "10"},
		{Affinity(), "", "1"},
		{CPUSet(), "", "1"},
		{Quota(), "", "1.5"},
		{GROFlushTimeout(), "eth0", "1ms"},
		{NAPIDeferral(), "eth0", "2"},
		{ReceivePacketSteering(), "eth0", "0"},
	} {
		m := recorded(t)
		m.lies = true
		p := Env{Machine: m, Target: test.target}
		if err := test.factor.Set(t.Context(), p, test.level); err != nil {
			t.Fatal(err)
		}
		if got, err := test.factor.Get(t.Context(), p); err != nil || got == test.level {
			t.Errorf("%s reads back %q, %v, though nothing was set", test.factor.Name, got, err)
		}
	}
}

func TestWhatAHostLacksIsSaid(t *testing.T) {
	empty := &fake{files: map[string]string{"/proc/self/mountinfo": "25 22 0:26 / /dev/shm rw - tmpfs tmpfs rw\n"}, stats: map[string]string{"/dev/shm": "26 /dev/shm"}}
	for _, test := range []struct {
		factor Factor
		place  Env
		want   string
	}{
		{Scheduler(), Env{Machine: empty, Dir: "/dev/shm/x"}, "/dev/shm/x lies on tmpfs, which has no block device"},
		{Scheduler(), Env{Machine: empty, Target: "sdq"}, "block device sdq: recorded has no /sys/class/block/sdq"},
		{Scheduler(), Env{Machine: recorded(t), Dir: "/mnt/wide"}, "specify one of them as host.scheduler:"},
		{ReadAhead(), Env{Machine: empty, Dir: "/dev/shm"}, "no block device"},
		{TransparentHugePages(), Env{Machine: empty}, "recorded has no transparent huge pages"},
		{Sysctl(), Env{Machine: empty, Target: "vm.no_such"}, "recorded has no sysctl vm.no_such"},
		{Affinity(), Env{Machine: bare{recorded(t)}}, "recorded cannot confine workers"},
		{CPUSet(), Env{Machine: bare{recorded(t)}}, "recorded cannot confine workers"},
		{Quota(), Env{Machine: bare{recorded(t)}}, "recorded cannot confine workers"},
		{CPUSet(), Env{Machine: empty}, "no control groups with the cpuset controller"},
		{Quota(), Env{Machine: empty}, "no control groups with the cpu controller"},
	} {
		_, err := test.factor.Get(t.Context(), test.place)
		if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.factor.Name, err, test.want)
		}
		if test.factor.Offers == nil || strings.HasPrefix(test.want, "no control") {
			continue
		}
		if _, err := test.factor.Offers(t.Context(), test.place); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s offers: got %v", test.factor.Name, err)
		}
	}
}

func TestAcceptRefuses(t *testing.T) {
	m := recorded(t)
	tests := []struct {
		factor              Factor
		target, level, want string
	}{
		{Scheduler(), "sdb", "bfq", `does not support "bfq": available are none, mq-deadline`},
		{Scheduler(), "../sda", "none", "is not the name of a block device"},
		{ReadAhead(), "sda", "fast", "is not a size"},
		{ReadAhead(), "sda", "5KiB", "is not a multiple of 4KiB"},
		{TransparentHugePages(), "", "maybe", "always, madvise, never"},
		{Sysctl(), "", "1", "append the setting after a colon"},
		{Sysctl(), "../kernel/x", "1", "is not the name of a sysctl"},
		{Sysctl(), "/etc/passwd", "1", "is not the name of a sysctl"},
		{Sysctl(), "vm..dirty", "1", "is not the name of a sysctl"},
		{Sysctl(), "vm.dirty_ratio", " ", "must not be empty"},
		{Affinity(), "", "some", "is not a CPU list"},
		{Affinity(), "", "9", "CPU 9 is not online"},
		{CPUSet(), "", "9", "CPU 9 is not online"},
		{Quota(), "", "0", "nor a number of CPUs"},
		{Quota(), "", "0.0104", "nor a number of CPUs"},
		{Command("x", "true", "true", ""), "", " ", "is empty"},
	}
	for _, test := range tests {
		got, err := test.factor.Accept(t.Context(), Env{Machine: m, Target: test.target}, test.level)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %q: got %q, %v, want %q", test.factor.Name, test.level, got, err, test.want)
		}
	}
}

// The form alone is judged where a study is read, without any machine.
func TestAcceptWithoutAMachine(t *testing.T) {
	for _, test := range []struct {
		factor              Factor
		target, level, want string
	}{
		{Affinity(), "", "1,0", "0-1"},
		{Affinity(), "", "free", "free"},
		{CPUSet(), "", "2,1,0,7", "0-2,7"},
		{Quota(), "", "1.50", "1.5"},
		{Quota(), "", "none", "none"},
		{ReadAhead(), "", "1024KiB", "1MiB"},
		{Sysctl(), "net.ipv4.tcp_rmem", "1\t2  3", "1 2 3"},
		{Scheduler(), "", "anything", "anything"},
		{Label(), "", "A", "A"},
	} {
		got, err := test.factor.Accept(t.Context(), Env{Target: test.target}, test.level)
		if err != nil || got != test.want {
			t.Errorf("%s %q: got %q, %v, want %q", test.factor.Name, test.level, got, err, test.want)
		}
	}
}

func TestADeniedWriteSaysWhatToDo(t *testing.T) {
	m := recorded(t)
	m.refuses = true
	err := TransparentHugePages().Set(t.Context(), Env{Machine: m}, "never")
	if err == nil || !strings.Contains(err.Error(), "run plimsoll as root") {
		t.Errorf("got %v", err)
	}
}

func TestAffinityIsFreeInsideACPUSet(t *testing.T) {
	m := recorded(t)
	m.confined = platform.Confinement{CPUSet: "1"}
	if got, err := Affinity().Get(t.Context(), Env{Machine: m}); err != nil || got != "free" {
		t.Errorf("got %q, %v", got, err)
	}
}

// The CPU of a hold is one that workers may use.
func TestHoldsOnACPU(t *testing.T) {
	for _, test := range []struct {
		factor     Factor
		counter    string
		free, want string
	}{
		{Affinity(), "processes.generator.migrations", "free", "3"},
		{Affinity(), "interrupts.rescheduling/op", "0,2", "2"},
		{ReceivePacketSteering(), "softirq.net_rx.gini", "none", "3"},
		{Quota(), "cgroup.throttled", "1.5", "none"},
		{TransparentHugePages(), "memory.huge_pages", "always", "never"},
	} {
		i := slices.IndexFunc(test.factor.Holds, func(h Hold) bool { _, ok := h.Holding(test.counter); return ok })
		if i < 0 {
			t.Errorf("%s does not hold %s", test.factor.Name, test.counter)
			continue
		}
		h := test.factor.Holds[i]
		p := Env{Machine: recorded(t), Target: h.Target}
		if got, err := h.Level(t.Context(), p, test.free); err != nil || got != test.want {
			t.Errorf("%s: %q, %v, want %q", test.counter, got, err, test.want)
		} else if again, err := test.factor.Accept(t.Context(), p, got); err != nil || again != got {
			t.Errorf("%s: accepts %q as %q, %v", test.factor.Name, got, again, err)
		}
	}
	if _, err := Affinity().Holds[0].Level(t.Context(), Env{Machine: recorded(t)}, "no list"); err == nil {
		t.Error("a level that is no list was taken")
	}
}

func TestTheCPUSetInEffectIsRead(t *testing.T) {
	m := recorded(t)
	m.files["/g/cpuset.cpus"], m.files["/g/cpuset.cpus.effective"], m.files["/g/cpuset.effective_cpus"] = "0-7\n", "0-3\n", "0-1\n"
	for version, want := range map[int]string{1: "0-1", 2: "0-3"} {
		if got, err := cpuSetOf(t.Context(), m, platform.ControlGroup{Version: version, Folder: "/g"}); err != nil || got != want {
			t.Errorf("version %d: got %q, %v, want %q", version, got, err, want)
		}
	}
	m.files["/g/cpuset.cpus"] = "\n"
	if got, err := cpuSetOf(t.Context(), m, platform.ControlGroup{Version: 2, Folder: "/g"}); err != nil || got != free {
		t.Errorf("a group without a list: got %q, %v", got, err)
	}
}

func TestQuotaOfVersion1(t *testing.T) {
	m := recorded(t)
	g := platform.ControlGroup{Version: 1, Folder: "/g"}
	for quota, want := range map[string]string{"150000": "1.5", "-1": "none", "33000": "0.33"} {
		m.files["/g/cpu.cfs_quota_us"], m.files["/g/cpu.cfs_period_us"] = quota+"\n", "100000\n"
		if got, err := quotaOf(t.Context(), m, g); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", quota, got, err, want)
		}
	}
	m.files["/g/cpu.cfs_quota_us"] = "many\n"
	if got, err := quotaOf(t.Context(), m, g); err == nil {
		t.Errorf("got %q", got)
	}
}

func TestEveryFactorIsDescribed(t *testing.T) {
	for _, f := range []Factor{Scheduler(), ReadAhead(), Affinity(), CPUSet(), Quota(), TransparentHugePages(), Sysctl(), Label(), Command("x", "", "", "")} {
		if f.Name == "" || f.Doc == "" || len(f.Example) != 2 || f.Get == nil || f.Set == nil {
			t.Errorf("%s lacks something: %+v", f.Name, f)
		}
		for _, level := range f.Example {
			p := Env{}
			if f.Target != "" {
				p.Target = "vm.dirty_ratio"
			}
			if got, err := f.Accept(t.Context(), p, level); err != nil || got != level {
				t.Errorf("%s: its example %q is taken as %q, %v", f.Name, level, got, err)
			}
		}
	}
}

func FuzzChoices(f *testing.F) {
	for _, seed := range []string{"none [mq-deadline] kyber", "none", "", "[a] [b]", "[]", "[ x ]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		now, offered, err := choices(text)
		if err != nil {
			return
		}
		found := false
		for _, o := range offered {
			found = found || o == now
		}
		if now == "" || !found {
			t.Errorf("%q: %q is not among %q", text, now, offered)
		}
	})
}

func FuzzSysctlFile(f *testing.F) {
	for _, seed := range []string{"vm.dirty_ratio", "net.ipv4.conf.eth0/1.forwarding", "..", "a/../b", "/x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, key string) {
		name, err := sysctlFile(key)
		if err == nil && (!strings.HasPrefix(name, "/proc/sys/") || strings.Contains(name, "..") || strings.Contains(name, "/.") || strings.ContainsAny(name, "\x00 ")) {
			t.Errorf("%q leads to %q", key, name)
		}
	})
}
