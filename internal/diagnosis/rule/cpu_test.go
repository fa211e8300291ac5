package rule_test

import (
	"fmt"
	"testing"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/diagnosis/diagnosistest"
	"plimsoll/internal/diagnosis/rule"
	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/cgroup"
	"plimsoll/internal/hoststat/network"
	"plimsoll/internal/hoststat/pmu"
	"plimsoll/internal/hoststat/psi"
)

type (
	evidence = diagnosis.Evidence
	process  = hoststat.Process
	thread   = hoststat.Thread
	interval = hoststat.Interval
)

var allCPUs = []int{0, 1, 2, 3, 4, 5, 6, 7}

// with changes the mean and all intervals.
func with(change func(i *interval)) func(e *evidence) {
	return func(e *evidence) { diagnosistest.Each(e, change) }
}

// all does several changes.
func all(changes ...func(e *evidence)) func(e *evidence) {
	return func(e *evidence) {
		for _, change := range changes {
			change(e)
		}
	}
}

// running adds processes.
func running(ps ...process) func(e *evidence) {
	return func(e *evidence) {
		for _, p := range ps {
			diagnosistest.Run(e, p)
		}
	}
}

// busy makes CPUs busy.
func busy(share float64, cpus ...int) func(e *evidence) {
	return func(e *evidence) { diagnosistest.Use(e, share, cpus...) }
}

// group adds a control group.
func group(g cgroup.Group) func(e *evidence) {
	return with(func(i *interval) { i.Groups = append(i.Groups, g) })
}

// hog computes on some threads.
func hog(pid, cpus int) process {
	p := process{PID: pid, Name: "hog", User: float64(cpus), Involuntary: 20, Group: "/user.slice"}
	for n := range cpus {
		p.Tasks = append(p.Tasks, thread{TID: pid + n, Name: "hog", User: 1})
	}
	return p
}

func TestCPUQuota(t *testing.T) {
	throttled := cgroup.Group{Path: "/system.slice/server.service", Version: 2, Quota: 2, Periods: 10, ThrottledPeriods: 8, Throttled: 1.5, Usage: 2}
	server := process{PID: 5, Name: "server", User: 2, Voluntary: 900}
	judge(t, "cpu_quota", []scene{
		{"throttled service", all(running(server), group(throttled)), "server (5)", "systemctl set-property --runtime server.service CPUQuota="},
		{"a slice above is throttled", all(running(server), group(cgroup.Group{Path: "/system.slice", Version: 2, Quota: 2, Periods: 10, ThrottledPeriods: 8, Throttled: 1.5, Usage: 2})), "server (5)", "system.slice CPUQuota="},
		{"a group of version 1", all(running(process{PID: 5, Name: "server", User: 2, Group: "/job"}), group(cgroup.Group{
			Path: "/job", Version: 1, Quota: 2, Periods: 10, ThrottledPeriods: 8, Throttled: 1.5, Usage: 2, Folders: map[string]string{"cpu": "/sys/fs/cgroup/cpu/job"},
		})), "server (5)", "echo -1 > /sys/fs/cgroup/cpu/job/cpu.cfs_quota_us"},
		{"a container", all(running(process{PID: 5, Name: "server", User: 2, Group: "/system.slice/docker-0123456789abcdef.scope"}), group(cgroup.Group{
			Path: "/system.slice/docker-0123456789abcdef.scope", Version: 2, Quota: 2, Periods: 10, ThrottledPeriods: 8, Throttled: 1.5, Usage: 2,
		})), "server (5)", "docker update --cpus 0 0123456789ab"},
		{"a quota that is not reached", all(running(server), group(cgroup.Group{Path: throttled.Path, Quota: 4, Periods: 10, ThrottledPeriods: 0.2, Throttled: 0.01, Usage: 2})), "", ""},
	})
}

// What is recommended takes effect: a nice value has none across sessions, or on real-time programs.
func TestPriority(t *testing.T) {
	victim := func(change func(p *process)) func(e *evidence) {
		p := process{PID: 5, Name: "server", User: 0.2, System: 0.2, RunDelay: 0.6, Voluntary: 3000, Group: "/", Session: 5}
		change(&p)
		return running(p)
	}
	batch := func(change func(p *process)) func(e *evidence) {
		p := hog(100, 7)
		p.Group, p.Session = "/", 5
		change(&p)
		return all(running(p), busy(1, allCPUs...))
	}
	same := func(*process) {}
	setting := func(value string) func(e *evidence) {
		return func(e *evidence) { e.Facts.Settings["proc/sys/kernel/sched_autogroup_enabled"] = value }
	}
	in := func(path string) func(p *process) { return func(p *process) { p.Group = path } }
	v1 := map[string]string{"cpu": "/sys/fs/cgroup/cpu/web/one"}
	unit := "/system.slice/web.service"
	judge(t, "noisy_neighbour", []scene{
		{"equal", all(victim(same), batch(same), setting("1")), "server (5)", "renice -n 19 -p $(ps -Lo lwp= -p 100)"},
		{"in sessions of their own", all(victim(same), batch(func(p *process) { p.Session = 100 }), setting("1")), "server (5)", "echo 19 > /proc/100/autogroup"},
		{"sessions without autogroups", all(victim(same), batch(func(p *process) { p.Session = 100 }), setting("0")), "server (5)", "renice -n 19"},
		{"in real time", all(victim(same), batch(func(p *process) { p.Policy = 1 })), "server (5)", "chrt --other --all-tasks --pid 0 100"},
		{"a service with idle policy", all(victim(func(p *process) { p.Policy = 5 }), batch(same)), "server (5)", "chrt --other --all-tasks --pid 0 5"},
		{"a service that is nice", all(victim(func(p *process) { p.Nice = 10 }), batch(same)), "server (5)", "renice -n 0 -p $(ps -Lo lwp= -p 5)"},
		{"a program that is not nice", all(victim(same), batch(func(p *process) { p.Nice = -10 })), "server (5)", "renice -n 0 -p $(ps -Lo lwp= -p 100)"},
		{"both are nice", all(victim(func(p *process) { p.Nice = 10 }), batch(func(p *process) { p.Nice = 10 })), "server (5)", "renice -n 19 -p $(ps -Lo lwp= -p 100)"},
		{"a light unit", all(victim(in(unit)), batch(in("/system.slice/batch.service")), group(cgroup.Group{Path: unit, Weight: 1})), "server (5)", "systemctl set-property --runtime web.service CPUWeight=100"},
		{"an idle group", all(victim(in("/web")), batch(in("/batch")), group(cgroup.Group{Path: "/web", Version: 2, Weight: cgroup.Idle})), "server (5)", "echo 0 > /sys/fs/cgroup/web/cpu.idle"},
		{"a light group of version 1", all(victim(in("/web/one")), batch(in("/web/two")), group(cgroup.Group{Path: "/web/one", Version: 1, Weight: 10, Folders: v1})), "server (5)", "echo 1024 > /sys/fs/cgroup/cpu/web/one/cpu.shares"},
		{"a light group below what competes", all(victim(in(unit+"/worker")), batch(in("/user.slice")), group(cgroup.Group{Path: unit + "/worker", Weight: 1}), group(cgroup.Group{Path: "/user.slice", Weight: 100})), "server (5)", "systemctl set-property --runtime user.slice CPUWeight=1"},
		{"both are light", all(victim(in("/a")), batch(in("/b")), group(cgroup.Group{Path: "/a", Version: 2, Weight: 20}), group(cgroup.Group{Path: "/b", Version: 2, Weight: 20})), "server (5)", "echo 1 > /sys/fs/cgroup/b/cpu.weight"},
		{"a loud group that is idle already", all(victim(in("/a")), batch(in("/b")), group(cgroup.Group{Path: "/b", Version: 2, Weight: cgroup.Idle})), "server (5)", "the least already"},
		{"a pod beside a unit", all(victim(in(unit)), batch(in("/kubepods.slice/x")), group(cgroup.Group{Path: "/kubepods.slice", Version: 2, Weight: 200})), "server (5)", "CPU request"},
		{"pods", all(victim(in("/kubepods/burstable/x")), batch(in("/kubepods/besteffort/y")), group(cgroup.Group{Path: "/kubepods/burstable", Version: 2, Weight: 20})), "server (5)", "move hog"},
	})
}

func TestSlowClock(t *testing.T) {
	clock := func(source, offered string, seconds float64) func(e *evidence) {
		return func(e *evidence) {
			const folder = "sys/devices/system/clocksource/clocksource0/"
			e.Facts.ClockRead, e.Facts.Settings[folder+"current_clocksource"], e.Facts.Settings[folder+"available_clocksource"] = seconds, source, offered
		}
	}
	database := running(process{PID: 5, Name: "mariadbd", User: 2, System: 1.5, Voluntary: 9000})
	judge(t, "slow_clock", []scene{
		{"a VM that lost its TSC", all(clock("hpet", "hpet acpi_pm", 1.9e-6), database), "mariadbd (5)", "dmesg"},
		{"another source is there", all(clock("xen", "xen tsc hpet acpi_pm", 6e-7), database), "mariadbd (5)", "echo tsc > /sys/devices/system/clocksource"},
		{"nobody works in the kernel", all(clock("hpet", "hpet", 1.9e-6), with(func(i *interval) { i.Processes = nil }), running(process{PID: 5, Name: "sim", User: 6, System: 0.1})), "", ""},
		{"a slow machine with a quick source", all(clock("kvm-clock", "kvm-clock", 9e-7), database), "", ""},
		{"a source of another architecture", all(clock("timebase", "timebase", 4e-8), database), "", ""},
	})
}

func TestShortLivedProcesses(t *testing.T) {
	starts := func(perSecond float64) func(e *evidence) {
		return with(func(i *interval) { i.Forks = perSecond })
	}
	shell := process{PID: 7, Name: "bash", User: .1, System: .2, Reaped: 1.5, Faulted: 180_000, Group: "/user.slice"}
	build := process{PID: 7, Name: "make", User: .1, Reaped: 6, Faulted: 200_000}
	judge(t, "short_lived_processes", []scene{
		{"a script that starts programs", all(starts(700), running(shell)), "bash (7)", "perf trace"},
		{"the script among shells", all(starts(700), running(process{PID: 8, Name: "bash", User: .2, Group: "/user.slice"}, shell)), "bash (7)", "long-running"},
		{"a connection for each query", all(starts(300), running(process{PID: 7, Name: "postgres", User: .3, Reaped: 2, Faulted: 300_000})), "postgres (7)", "pgbouncer"},
		{"a script on slow CPUs", all(starts(1280), running(process{PID: 7, Name: "sh", User: .13, Reaped: 1.4, Faulted: 103_000})), "sh (7)", "long-running"},
		{"short jobs that work", all(starts(1280), running(process{PID: 7, Name: "sh", User: .13, Reaped: 1.4, Faulted: 40_000})), "", ""},
		{"a build", all(starts(40), running(build)), "", ""},
		{"a build of small files on fast CPUs", all(starts(100), running(process{PID: 7, Name: "make", Reaped: 4, Faulted: 280_000})), "", ""},
		{"a build beside a server that starts threads", all(starts(2000), running(build)), "", ""},
		{"jobs of a second", all(starts(21), running(process{PID: 7, Name: "cron", Reaped: 4, Faulted: 400_000})), "", ""},
		{"a script that does little", all(starts(100), running(process{PID: 7, Name: "sh", User: .05, Reaped: .2, Faulted: 20_000})), "", ""},
		{"threads that end", starts(3000), "", ""},
	})
}

func TestCPUSetTooSmall(t *testing.T) {
	server := process{PID: 5, Name: "server", Allowed: "0-1", User: 2, RunDelay: 3, Voluntary: 900}
	set := group(cgroup.Group{Path: "/system.slice/server.service", Version: 2, CPUSet: "0-1"})
	judge(t, "cpuset_too_small", []scene{
		{"a full set", all(running(server), busy(1, 0, 1), set), "server (5)", "AllowedCPUs=0-7"},
		{"a set of version 1", all(running(process{PID: 5, Name: "server", Allowed: "0-1", User: 2, RunDelay: 3, Group: "/", SetGroup: "/small"}), busy(1, 0, 1),
			group(cgroup.Group{Path: "/small", Version: 1, CPUSet: "0-1", Folders: map[string]string{"cpuset": "/sys/fs/cgroup/cpuset/small"}})),
			"server (5)", "echo 0-7 > /sys/fs/cgroup/cpuset/small/cpuset.cpus"},
		{"an affinity", all(running(server), busy(1, 0, 1)), "", ""},
		{"a set with room", all(running(process{PID: 5, Name: "server", Allowed: "0-1", User: 0.5, RunDelay: 0.01}), set), "", ""},
		{"all CPUs are busy", all(running(server), busy(1, allCPUs...), set), "", ""},
	})
}

func TestCPUSteal(t *testing.T) {
	steal := func(part float64) func(i *interval) {
		return func(i *interval) {
			for n := range i.CPUs {
				i.CPUs[n] = hoststat.CPU{User: 0.6, Idle: 0.4 - part, Steal: part}
			}
		}
	}
	judge(t, "cpu_steal", []scene{
		{"a third is withheld", with(steal(0.3)), "*", "move this VM"},
		{"housekeeping of the hypervisor", with(steal(0.01)), "", ""},
		{"busy without steal", busy(1, allCPUs...), "", ""},
	})
}

// On two CPUs, a third of one is room for more threads; on eight it is not.
func TestRoomOfSmallHosts(t *testing.T) {
	for cpus, want := range map[int]int{2: 1, 8: 0} {
		e := diagnosistest.Healthy(cpus)
		diagnosistest.Run(e, process{PID: 5, Name: "app", User: 0.5, System: 0.5, Voluntary: 40e3, Contended: 8})
		with(func(i *interval) {
			for n := range i.CPUs {
				i.CPUs[n] = hoststat.CPU{User: 1 - 0.35/float64(cpus), Idle: 0.35 / float64(cpus)}
			}
		})(e)
		if found := diagnosistest.Found(t, rule.All(), "lock_convoy", e); len(found) != want {
			t.Errorf("%d CPUs: %d findings, want %d", cpus, len(found), want)
		}
	}
}

// A hypervisor that withholds a little explains neither a neighbour nor a pool that is too large; one that withholds a third does.
func TestSmallStealExplainsNothing(t *testing.T) {
	for part, want := range map[float64]string{0.06: "noisy_neighbour", 0.33: "cpu_steal"} {
		e := diagnosistest.Healthy(8)
		diagnosistest.Run(e, process{PID: 5, Name: "server", User: 0.3, System: 0.3, RunDelay: 1.5, Voluntary: 3000})
		diagnosistest.Run(e, hog(100, 7))
		with(func(i *interval) {
			for n := range i.CPUs {
				i.CPUs[n] = hoststat.CPU{User: 1 - part, Steal: part}
			}
		})(e)
		if found, _ := diagnosis.Judge(e, rule.All()); len(found) < 2 || found[0].Rule != want {
			t.Errorf("%g is withheld, and the first finding is not %s: %+v", part, want, found)
		}
	}
}

func TestReadyTime(t *testing.T) {
	vm := func(pid int, delay float64) process {
		p := process{PID: pid, Name: "qemu-system-x86", Command: "/usr/bin/qemu-system-x86_64 -name guest=web,debug-threads=on -m 4096", User: 1.6, Guest: 1.5, RunDelay: 2 * delay}
		for n := range 2 {
			p.Tasks = append(p.Tasks, thread{TID: pid + n, Name: fmt.Sprintf("CPU %d/KVM", n), User: 0.8, RunDelay: delay})
		}
		return p
	}
	judge(t, "ready_time", []scene{
		{"vCPUs wait", running(vm(50, 0.3)), "qemu-system-x86 (50)", "web"},
		{"a program of the host", running(hog(9, 6), vm(50, 0.3)), "qemu-system-x86 (50)", "move hog off this host"},
		{"vCPUs run", running(vm(50, 0.01)), "", ""},
		{"another program waits", running(process{PID: 5, Name: "server", User: 1, RunDelay: 2}), "", ""},
		{"threads without names", running(process{PID: 9, Name: "kvm", Command: "kvm -name db", User: 1, Guest: 0.9, RunDelay: 0.5, Tasks: []thread{{TID: 9, Name: "kvm"}, {TID: 10, Name: "kvm", User: 1, RunDelay: 0.5}}}), "kvm (9)", "db"},
	})
}

func TestSoftIRQOnOneCPU(t *testing.T) {
	concentrated := func(soft, idle float64) func(i *interval) {
		return func(i *interval) {
			i.SoftIRQs["NET_RX"] = []float64{10, 10, 50e3, 10, 10, 10, 10, 10}
			i.CPUs[2] = hoststat.CPU{SoftIRQ: soft, User: 1 - soft - idle, Idle: idle}
			for n := range i.IRQs { // one queue
				if i.IRQs[n].Name[0] >= '0' && i.IRQs[n].Name[0] <= '9' {
					i.IRQs[n].PerCPU = make([]float64, 8)
				}
			}
		}
	}
	judge(t, "softirq_on_one_cpu", []scene{
		{"network on CPU 2", with(concentrated(0.8, 0)), "eth0", "echo ff > $q/rps_cpus"},
		{"CPUs that hand packets over to CPU 2", with(func(i *interval) {
			concentrated(0.8, 0)(i)
			i.SoftIRQs["NET_RX"] = []float64{300, 300, 1000, 300, 10, 10, 10, 10}
			i.Network = &network.State{Softnet: []network.Softnet{{}, {}, {Processed: 80e3}, {Processed: 100}}}
		}), "eth0", "echo ff > $q/rps_cpus"},
		{"packets processed on all CPUs", with(func(i *interval) {
			concentrated(0.8, 0)(i)
			i.SoftIRQs["NET_RX"] = []float64{300, 300, 1000, 300, 10, 10, 10, 10}
			i.Network = &network.State{Softnet: []network.Softnet{{Processed: 20e3}, {Processed: 20e3}, {Processed: 20e3}, {Processed: 20e3}}}
		}), "", ""},
		{"CPU 2 has time left", with(concentrated(0.4, 0.5)), "", ""},
		{"a program fills CPU 2", with(concentrated(0.05, 0)), "", ""},
		{"all CPUs are busy", all(with(concentrated(0.8, 0)), busy(1, 0, 1, 3, 4, 5, 6, 7)), "", ""},
		{"spread evenly", with(func(i *interval) {
			for n := range i.CPUs {
				i.SoftIRQs["NET_RX"][n] = 40e3
				i.CPUs[n] = hoststat.CPU{SoftIRQ: 0.5, Idle: 0.5}
			}
		}), "", ""},
		{"several queues on CPU 2", with(func(i *interval) {
			concentrated(0.8, 0)(i)
			i.IRQs = append(i.IRQs, hoststat.IRQ{Name: "90", Device: "eth0-TxRx-0", PerCPU: []float64{0, 0, 9000, 0, 0, 0, 0, 0}}, hoststat.IRQ{Name: "91", Device: "eth0-TxRx-1", PerCPU: []float64{0, 0, 9000, 0, 0, 0, 0, 0}})
		}), "eth0", "/proc/irq/$i/smp_affinity_list"},
	})
}

func TestReschedulingStorm(t *testing.T) {
	interrupts := func(name string) func(i *interval) {
		return func(i *interval) {
			for n := range i.IRQs {
				if i.IRQs[n].Name == name {
					for c := range i.IRQs[n].PerCPU {
						i.IRQs[n].PerCPU[c] = 40e3
					}
				}
			}
		}
	}
	judge(t, "rescheduling_storm", []scene{
		{"CPUs wake one another", all(running(process{PID: 5, Name: "pipes", System: 2, Voluntary: 300e3}), with(interrupts("RES"))), "pipes (5)", "keep the threads of pipes"},
		{"timers", with(interrupts("LOC")), "", ""},
		{"context switches without interrupts", all(running(process{PID: 5, Name: "pipes", System: 2, Voluntary: 300e3}), with(func(i *interval) { i.Switches = 600e3 })), "", ""},
	})
}

func TestInterruptCoalescing(t *testing.T) {
	load := func(packets, interrupts float64) func(i *interval) {
		return func(i *interval) {
			i.Links[0].ReceivedPackets = packets
			for n := range i.IRQs {
				if i.IRQs[n].Device == "PCI-MSIX eth0-TxRx-0" {
					i.IRQs[n].PerCPU[0] = interrupts
				}
			}
			i.CPUs[0] = hoststat.CPU{SoftIRQ: 0.3, IRQ: 0.2, Idle: 0.5}
		}
	}
	judge(t, "interrupt_coalescing", []scene{
		{"an interrupt for each packet", with(load(80e3, 80e3)), "eth0", "ethtool -C eth0"},
		{"ten packets for each interrupt", with(load(800e3, 80e3)), "", ""},
		{"few packets", with(load(5e3, 5e3)), "", ""},
		{"long deferral", func(e *evidence) {
			e.Facts.Settings["sys/class/net/eth0/gro_flush_timeout"] = "200000"
			e.Facts.Settings["sys/class/net/eth0/napi_defer_hard_irqs"] = "2"
		}, "eth0", "gro_flush_timeout"},
	})
}

func TestCacheTopology(t *testing.T) {
	two := func(e *evidence) { // caches of four CPUs
		for n := range e.Facts.CPUs {
			first := n / 4 * 4
			e.Facts.CPUs[n].Cache = []int{first, first + 1, first + 2, first + 3}
		}
	}
	program := func(moves, voluntary float64) process {
		p := process{PID: 5, Name: "broker", User: 1, System: 1, Voluntary: voluntary}
		for n := range 4 {
			p.Tasks = append(p.Tasks, thread{TID: 5 + n, Name: "broker", User: 0.25, System: 0.25, CacheMoves: moves})
		}
		return p
	}
	judge(t, "cache_topology", []scene{
		{"threads wander", all(two, running(program(0.45, 20e3))), "broker (5)", "taskset --all-tasks --cpu-list --pid 0-3 5"},
		{"threads stay", all(two, running(program(0.02, 20e3))), "", ""},
		{"threads compute", all(two, running(program(0.45, 50))), "", ""},
		{"one cache", running(program(0.45, 20e3)), "", ""},
	})
}

func TestSMTContention(t *testing.T) {
	program := process{PID: 5, Name: "solver", User: 2, Allowed: "0-1", Tasks: []thread{{TID: 5, User: 1, CPU: 0}, {TID: 6, User: 1, CPU: 1}}}
	judge(t, "smt_contention", []scene{
		{"both threads of core 0", all(running(program), busy(1, 0, 1), busy(0.01, 2, 3, 4, 5, 6, 7)), "solver (5)", "--pid 0,2,4,6 5"},
		{"all cores", all(running(program), busy(1, allCPUs...)), "", ""},
		{"a CPU of two cores", all(running(program), busy(1, 0, 2), busy(0.01, 1, 3, 4, 5, 6, 7)), "", ""},
	})
}

func TestHotThread(t *testing.T) {
	redis := process{PID: 5, Name: "redis-server", User: 0.5, System: 0.49, Tasks: []thread{{TID: 5, Name: "redis-server", User: 0.5, System: 0.49}, {TID: 6, Name: "bio_close_file"}}}
	judge(t, "hot_thread", []scene{
		{"redis", all(running(redis), busy(1, 3)), "redis-server (5)", "io-threads"},
		{"no idle CPU", all(running(redis), busy(1, allCPUs...)), "", ""},
		{"a job that computes", running(process{PID: 5, Name: "gzip", User: 0.99, System: 0.01, Voluntary: 5}), "", ""},
		{"a job that was asked about", all(running(process{PID: 5, Name: "gzip", User: 0.99, System: 0.01, Voluntary: 5}), func(e *evidence) { e.Focus = []int{5} }), "gzip (5)", "gzip"},
		{"many busy threads", running(process{PID: 5, Name: "db", User: 2, System: 2, Tasks: []thread{{User: 0.5, System: 0.5}, {User: 0.5, System: 0.5}, {User: 0.5, System: 0.5}, {User: 0.5, System: 0.5}}}), "", ""},
		{"soft interrupts", running(process{PID: 5, Name: "ksoftirqd/3", System: 1}), "", ""},
	})
}

func TestTooFewWorkers(t *testing.T) {
	worker := func(pid int) process {
		return process{PID: pid, Name: "web", Command: "web: worker process", User: 0.6, System: 0.38, Voluntary: 300}
	}
	judge(t, "too_few_workers", []scene{
		{"one worker", running(worker(5)), "web (5)", "more workers of web"},
		{"two workers", running(worker(5), worker(6)), "web (6)", "more workers of web"},
		{"two threads", running(process{PID: 5, Name: "memcached", User: 1, System: 1, Tasks: []thread{{User: 0.5, System: 0.5}, {User: 0.5, System: 0.49}, {}}}), "memcached (5)", "-t"},
		{"workers with time left", running(process{PID: 5, Name: "web", Command: "web: worker process", User: 0.3, System: 0.3}), "", ""},
		{"jobs that compute", running(hog(5, 3)), "", ""},
		{"one thread without a pool", running(process{PID: 5, Name: "redis-server", User: 0.5, System: 0.5}), "", ""},
		{"no idle CPU", all(running(worker(5)), busy(1, allCPUs...)), "", ""},
	})
}

func TestTooManyWorkers(t *testing.T) {
	crowd := process{PID: 5, Name: "app", User: 5, System: 2.5, RunDelay: 60, Voluntary: 9000, Involuntary: 8000, Threads: 400}
	judge(t, "too_many_workers", []scene{
		{"a crowd", all(running(crowd), busy(1, allCPUs...)), "app (5)", "smaller pool"},
		{"threads of a computation", all(running(process{PID: 5, Name: "simulate", User: 7.5, RunDelay: 20, Threads: 28}), busy(1, allCPUs...)), "simulate (5)", "one thread per CPU"},
		{"threads that meet at barriers", all(running(process{PID: 5, Name: "simulate", User: 7.45, System: 0.05, RunDelay: 15.5, Voluntary: 2500, Threads: 24}), busy(1, allCPUs...)), "simulate (5)", "one thread per CPU"},
		{"a service that waits a little", all(running(process{PID: 5, Name: "app", User: 6, System: 1.5, RunDelay: 15.5, Voluntary: 2500, Threads: 24}), busy(1, allCPUs...)), "", ""},
		{"jobs that compute", func(e *evidence) {
			for n := range 32 {
				diagnosistest.Run(e, process{PID: 100 + n, Name: "cc", User: 0.25, RunDelay: 0.75, Voluntary: 2, Involuntary: 80})
			}
			diagnosistest.Use(e, 1, allCPUs...)
		}, "", ""},
		{"as many as CPUs", all(running(process{PID: 5, Name: "app", User: 5, System: 2.5, RunDelay: 4, Voluntary: 9000, Involuntary: 4000}), busy(1, allCPUs...)), "", ""},
	})
}

func TestClientLimit(t *testing.T) {
	client := process{PID: 5, Name: "redis-benchmark", User: 0.5, System: 0.49}
	judge(t, "client_limit", []scene{
		{"client at its limit", running(client), "redis-benchmark (5)", "more threads"},
		{"two threads at their limit", running(process{PID: 5, Name: "wrk", User: 1, System: 1, Tasks: []thread{{User: 0.5, System: 0.5}, {User: 0.5, System: 0.5}}}), "wrk (5)", "more threads"},
		{"the server is at its limit too", running(client, process{PID: 6, Name: "redis-server", User: 0.5, System: 0.49}), "", ""},
		{"a runtime lets one thread of the client run at a time", func(e *evidence) {
			diagnosistest.Run(e, process{PID: 5, Name: "crawler", User: 0.3, System: 0.69, Tasks: []thread{{TID: 5, User: 0.2, System: 0.5}, {TID: 6, User: 0.1, System: 0.19}}})
			with(func(i *interval) {
				i.Network = &network.State{Flows: []network.Flow{{PID: 5, Peer: "10.0.0.2:80", Segments: 3000, SegmentsIn: 3000}}}
			})(e)
		}, "crawler (5)", "more threads"},
		{"a service that calls others", func(e *evidence) {
			diagnosistest.Run(e, process{PID: 5, Name: "proxy", User: 0.3, System: 0.69})
			with(func(i *interval) {
				i.Network = &network.State{Flows: []network.Flow{{PID: 5, Peer: "10.0.0.2:80", Segments: 3000, SegmentsIn: 3000}, {PID: 5, Port: 443, Segments: 3000, SegmentsIn: 3000}}}
			})(e)
		}, "", ""},
		{"client with time left", running(process{PID: 5, Name: "redis-benchmark", User: 0.3, System: 0.3}), "", ""},
		{"no idle CPU", all(running(client), busy(1, allCPUs...)), "", ""},
	})
}

func TestLockConvoy(t *testing.T) {
	threads := func(n int, locked, runs float64) (all []thread) {
		for i := range n {
			all = append(all, thread{TID: 5 + i, Name: "app", User: 0.05, System: 0.05, Locked: locked, Runs: runs})
		}
		return all
	}
	backends := func(locked float64) func(e *evidence) {
		return func(e *evidence) {
			for n := range 8 {
				diagnosistest.Run(e, process{PID: 50 + n, Name: "postgres", Group: "/pg", Command: "postgres: a b UPDATE waiting", User: 0.02, Locked: locked})
			}
		}
	}
	judge(t, "lock_convoy", []scene{
		{"threads take turns", running(process{PID: 5, Name: "app", User: 0.5, System: 0.5, Voluntary: 40e3, Contended: 8, Tasks: threads(10, 0.9, 4000)}), "app (5)", "perf lock"},
		{"threads park on words of their own", running(process{PID: 5, Name: "app", User: 0.5, System: 0.5, Voluntary: 40e3, Tasks: threads(10, 0.9, 4000)}), "", ""},
		{"an idle pool", running(process{PID: 5, Name: "app", User: 0.5, System: 0.5, Voluntary: 60, Tasks: threads(10, 1, 1)}), "", ""},
		{"threads that wait for the network", running(process{PID: 5, Name: "app", User: 0.5, System: 0.5, Voluntary: 40e3, Tasks: threads(10, 0.1, 4000)}), "", ""},
		{"parallel work", running(process{PID: 5, Name: "app", User: 3, System: 2, Voluntary: 40e3, Contended: 0.9, Tasks: threads(10, 0.5, 4000)}), "", ""},
		{"backends wait for row locks", backends(0.7), "postgres (57)", "pg_blocking_pids"},
		{"backends that work", backends(0.05), "", ""},
		{"rows of MariaDB", running(process{PID: 5, Name: "mariadbd", User: 0.2, System: 0.2, Voluntary: 3000, Tasks: threads(8, 0.8, 300)}), "mariadbd (5)", "INNODB"},
		{"commits of MariaDB", all(running(process{PID: 5, Name: "mariadbd", User: 0.2, System: 0.2, Voluntary: 3000, Tasks: threads(8, 0.8, 300)}), with(func(i *interval) { i.Disks[0].Busy = 0.9 })), "", ""},
	})
}

func TestNoisyNeighbour(t *testing.T) {
	stream := process{PID: 6, Name: "report", User: 2, RSS: 1 << 30}
	probes := func(latency float64) func(e *evidence) {
		return with(func(i *interval) { i.CacheLatency = latency })
	}
	victim := process{PID: 5, Name: "server", User: 0.3, System: 0.3, RunDelay: 1.5, Voluntary: 3000}
	handover := func(name string) process { // threads that a runtime replaces by one another
		p := process{PID: 9, Name: name, User: 6.9, System: 0.1, RunDelay: 8, Voluntary: 1560}
		for n := range 16 {
			p.Tasks = append(p.Tasks, thread{TID: 10 + n, User: 0.43, RunDelay: 0.5, Voluntary: 97, Runs: 300})
		}
		return p
	}
	judge(t, "noisy_neighbour", []scene{
		{"a hog", all(running(victim, hog(100, 7)), busy(1, allCPUs...)), "server (5)", "renice -n 19 -p $(ps -Lo lwp= -p 100)"},
		{"a hog on the service's CPU", func(e *evidence) {
			diagnosistest.Run(e, process{PID: 5, Name: "server", Allowed: "3", User: 0.2, System: 0.2, RunDelay: 0.6, Voluntary: 3000})
			diagnosistest.Run(e, process{PID: 9, Name: "batch", Allowed: "3", User: 0.6})
			diagnosistest.Use(e, 1, 3)
		}, "server (5)", "batch"},
		{"a program at its limit, and CPUs are idle", func(e *evidence) {
			diagnosistest.Run(e, process{PID: 5, Name: "client", User: 0.2, System: 0.2, RunDelay: 0.3, Voluntary: 3000})
			diagnosistest.Run(e, process{PID: 9, Name: "nginx", User: 0.97, System: 0.02})
			diagnosistest.Use(e, 0.3, allCPUs...)
		}, "", ""},
		{"a hog with a runtime whose threads sleep", func(e *evidence) {
			diagnosistest.Run(e, victim)
			batch := process{PID: 9, Name: "batch", User: 7, RunDelay: 9, Voluntary: 2500}
			for n := range 16 {
				batch.Tasks = append(batch.Tasks, thread{TID: 10 + n, User: 0.43, RunDelay: 0.56, Voluntary: 3, Runs: 300})
			}
			batch.Tasks = append(batch.Tasks, thread{TID: 40, User: 0.1, Voluntary: 2400, Runs: 2400})
			diagnosistest.Run(e, batch)
			diagnosistest.Use(e, 1, allCPUs...)
		}, "server (5)", "batch"},
		{"a hog with a runtime that hands threads over", all(running(victim, handover("batch")), busy(1, allCPUs...)), "server (5)", "batch"},
		{"a server that computes", all(running(victim, handover("app")), busy(1, allCPUs...), with(func(i *interval) {
			i.Network = &network.State{Flows: []network.Flow{{PID: 9, Port: 443, Segments: 3000, SegmentsIn: 3000}}}
		})), "", ""},
		{"the service does not wait", running(process{PID: 5, Name: "server", User: 0.3, System: 0.3, RunDelay: 0.01, Voluntary: 3000}, hog(100, 4)), "", ""},
		{"client and server", all(running(victim, process{PID: 9, Name: "pgbench", User: 4, System: 3, Voluntary: 30e3}), busy(1, allCPUs...)), "", ""},
		{"a stream through memory", all(running(process{PID: 5, Name: "index", User: 1}, stream), probes(110e-9)), "postgres (2000)", "report"},
		{"a stream that leaves the cache alone", all(running(process{PID: 5, Name: "index", User: 1}, stream), probes(20e-9)), "", ""},
		{"a stream, by cache misses", all(running(process{PID: 5, Name: "index", User: 1}, stream), probes(110e-9), with(func(i *interval) { i.PMU = []pmu.CPU{{Misses: 200e6}} })), "postgres (2000)", "report"},
		{"few cache misses", all(running(process{PID: 5, Name: "index", User: 1}, stream), probes(110e-9), with(func(i *interval) { i.PMU = []pmu.CPU{{Misses: 1e6}} })), "", ""},
		{"a small computation", all(running(process{PID: 5, Name: "index", User: 1}, hog(6, 2)), probes(110e-9)), "", ""},
		{"a build", func(e *evidence) { // short jobs wait for one another
			diagnosistest.Run(e, hog(100, 7))
			e.Mean.Processes = append(e.Mean.Processes, process{PID: 7, Name: "ld", Detailed: true, User: 0.1, System: 0.1, RunDelay: 1, Voluntary: 200})
			diagnosistest.Use(e, 1, allCPUs...)
		}, "", ""},
	})
}

func TestCPUSaturated(t *testing.T) {
	forSeconds := func(n int) func(e *evidence) { // the mean stays as it is
		return func(e *evidence) {
			for k := range n {
				i := &e.Intervals[10+k]
				for c := range i.CPUs {
					i.CPUs[c] = hoststat.CPU{User: 1}
				}
				i.Pressure["cpu"] = psi.Pressure{Some: 0.9}
				i.Processes = append([]process{{PID: 5, Name: "cc1plus", Detailed: true, User: 8, RunDelay: 8}}, i.Processes...)
			}
		}
	}
	jobs := process{PID: 5, Name: "cc1plus", User: 8, RunDelay: 8}
	pressed := with(func(i *interval) { i.Pressure["cpu"] = psi.Pressure{Some: 0.9} })
	about := func(pid int) func(e *evidence) { return func(e *evidence) { e.Focus = []int{pid} } }
	judge(t, "cpu_saturated", []scene{
		{"for a quarter of the time", forSeconds(15), "*", "25 % of the time"},
		{"for a few seconds", forSeconds(4), "", ""},
		{"twice as many jobs as CPUs", all(running(jobs), busy(1, allCPUs...), pressed), "*", "add CPUs"},
		{"a job per CPU", all(running(hog(5, 8)), busy(1, allCPUs...)), "", ""},
		{"asked about a program that waits", all(running(jobs, process{PID: 6, Name: "shop", User: 0.2, RunDelay: 0.1}), busy(1, allCPUs...), pressed, about(6)), "*", "add CPUs"},
		{"asked about one that does not", all(running(jobs, process{PID: 6, Name: "shop", User: 0.2, RunDelay: 0.001}), busy(1, allCPUs...), pressed, about(6)), "", ""},
		{"half busy", all(running(process{PID: 5, Name: "cc1plus", User: 4, RunDelay: 2}), busy(1, 0, 1, 2, 3)), "", ""},
	})
}

func TestPeriodicStall(t *testing.T) {
	series := func(name string, work func(second int) (busy float64, state string)) func(e *evidence) {
		return func(e *evidence) {
			diagnosistest.Run(e, process{PID: 5, Name: name, User: 0.8, Voluntary: 900})
			for n := range e.Intervals {
				p := &e.Intervals[n].Processes[0]
				if p.User, p.State = work(n); p.State == "T" {
					p.Stopped = 1
				}
			}
		}
	}
	every := func(period, length int, low float64, state string) func(int) (float64, string) {
		return func(n int) (float64, string) {
			if n%period < length {
				return low, state
			}
			return 0.8 + 0.03*float64(n%3), "S"
		}
	}
	steps := func(period, length int, runs float64) func(e *evidence) {
		return func(e *evidence) {
			diagnosistest.Run(e, process{PID: 5, Name: "server", User: 0.03, Voluntary: 900})
			for n := range e.Intervals {
				a := hoststat.Activity{PID: 5, TID: 5}
				for k := range hoststat.StepsPerReading {
					if at := n*hoststat.StepsPerReading + k; at%period < length {
						a.Runs = append(a.Runs, 0)
					} else {
						a.Runs = append(a.Runs, runs+float64(at%7))
					}
				}
				e.Intervals[n].Activity = append(e.Intervals[n].Activity, a)
			}
		}
	}
	judge(t, "periodic_stall", []scene{
		{"half a second each 4.3 s at a low rate", steps(43, 5, 90), "server (5)", "4.3 s"},
		{"a thread that runs twice a second", steps(5, 4, 1), "", ""},
		{"a duty cycle", steps(10, 5, 90), "", ""},
		{"stopped each 10 s", series("server", every(10, 2, 0, "T")), "server (5)", "SIGSTOP"},
		{"half a second each 10 s", series("server", every(10, 1, 0.4, "S")), "server (5)", "find what happens"},
		{"blocked each 12 s", series("server", every(12, 2, 0, "D")), "server (5)", "where server is blocked"},
		{"bursts each 10 s", series("cron", func(n int) (float64, string) { return map[bool]float64{true: 1, false: 0.01}[n%10 == 0], "S" }), "", ""},
		{"stalls at random", series("server", func(n int) (float64, string) {
			return map[bool]float64{true: 0.1, false: 0.8}[n == 3 || n == 9 || n == 30 || n == 36 || n == 55], "S"
		}), "", ""},
		{"one stall", series("server", func(n int) (float64, string) { return map[bool]float64{true: 0.1, false: 0.8}[n == 30], "S" }), "", ""},
		{"noise", series("server", func(n int) (float64, string) { return 0.2 + 0.6*float64(n*7%11)/10, "S" }), "", ""},
	})
}

func TestRemoteNUMA(t *testing.T) {
	nodes := func(miss float64) func(e *evidence) {
		return func(e *evidence) {
			diagnosistest.Each(e, func(i *interval) {
				i.Nodes = nil
				for n := range 2 {
					i.Nodes = append(i.Nodes, hoststat.Node{CPUs: allCPUs[4*n : 4*n+4], Stat: map[string]float64{"numa_hit": 20e3, "numa_miss": miss}})
				}
			})
			for n := range e.Facts.CPUs {
				e.Facts.CPUs[n].Node = n / 4
			}
		}
	}
	memory := func(here, there float64) func(e *evidence) {
		return group(cgroup.Group{Path: "/system.slice/db.service", NodeMemory: []float64{here, there}})
	}
	db := running(process{PID: 5, Name: "db", User: 2, CPU: 1})
	large := func(pid, cpu int, memory ...float64) process {
		return process{PID: pid, Name: "db", User: 2, CPU: cpu, NodeMemory: memory}
	}
	judge(t, "remote_numa", []scene{
		{"memory on the other node", all(nodes(0), db, memory(1<<20, 1<<32)), "db (5)", "migratepages 5 1 0"},
		{"memory on its node", all(nodes(0), db, memory(1<<32, 1<<20)), "", ""},
		{"memory of the process on the other node, in a group with others", all(nodes(0), running(large(5, 1, 1<<20, 1<<32)), memory(1<<36, 1<<32)), "db (5)", "migratepages 5 1 0"},
		{"an instance on each node, each with the memory of the other", all(nodes(0), running(large(5, 1, 1<<20, 1<<32), large(6, 5, 1<<32, 1<<20))), "db (6)", "migratepages 6 0 1"},
		{"an instance on each node, each with its memory", all(nodes(0), running(large(5, 1, 1<<32, 1<<20), large(6, 5, 1<<20, 1<<32)), memory(1<<32, 1<<32)), "", ""},
		{"memory on both nodes", all(nodes(0), running(large(5, 1, 1<<32, 1<<31))), "", ""},
		{"a full node", nodes(8e3), "postgres (2000)", "interleave"},
		{"few misses", nodes(10), "", ""},
		{"sampled accesses", all(nodes(0), with(func(i *interval) { i.VM["numa_hint_faults"], i.VM["numa_hint_faults_local"] = 5000, 1000 })), "postgres (2000)", "numactl"},
		{"sampled accesses are local", all(nodes(0), with(func(i *interval) { i.VM["numa_hint_faults"], i.VM["numa_hint_faults_local"] = 5000, 4500 })), "", ""},
	})
}

func TestFrequencyLimit(t *testing.T) {
	const at = "sys/devices/system/cpu/cpu0/cpufreq/"
	set := func(name, value string) func(e *evidence) {
		return func(e *evidence) { e.Facts.Settings[name] = value }
	}
	speed := func(hertz, watts float64) func(i *interval) {
		return func(i *interval) {
			for n := range i.Power.CPUs {
				i.Power.CPUs[n].Frequency = hertz
			}
			i.Power.Domains[0].Power = watts
		}
	}
	full := busy(1, allCPUs...)
	judge(t, "frequency_limit", []scene{
		{"a cap", all(full, set(at+"scaling_max_freq", "1800000")), "*", "echo 3500000 | tee"},
		{"a cap on an idle host", set(at+"scaling_max_freq", "1800000"), "", ""},
		{"powersave of acpi-cpufreq", all(full, set(at+"scaling_governor", "powersave"), set(at+"scaling_driver", "acpi-cpufreq")), "*", "echo performance"},
		{"powersave of intel_pstate", all(full, set(at+"scaling_governor", "powersave")), "", ""},
		{"heat", all(full, with(func(i *interval) { i.Power.CPUs[3].Throttles, i.Power.CPUs[3].Throttled = 5, 0.2 })), "*", "cooling"},
		{"one thermal event", all(full, with(func(i *interval) { i.Power.CPUs[3].Throttles = 0.02 })), "", ""},
		{"the power limit", all(full, with(speed(2e9, 204))), "*", "power limit of 205 W"},
		{"below the highest turbo frequency", all(full, with(speed(2.9e9, 150))), "", ""},
		{"no turbo", all(full, set("sys/devices/system/cpu/intel_pstate/no_turbo", "1")), "*", "echo 0 > /sys/devices/system/cpu/intel_pstate/no_turbo"},
	})
}

func TestCStateLatency(t *testing.T) {
	wakes := func(rate float64) func(i *interval) {
		return func(i *interval) { i.Power.CPUs[2].Idle[2].Usage = rate }
	}
	judge(t, "c_state_latency", []scene{
		{"a deep state between requests", with(wakes(1100)), "*", "cpupower idle-set --disable-by-latency 49"},
		{"an idle host", with(wakes(100)), "", ""},
		{"a shallow state", with(func(i *interval) { i.Power.CPUs[2].Idle[1].Usage = 20e3 }), "", ""},
	})
}
