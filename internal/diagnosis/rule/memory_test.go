package rule_test

import (
	"slices"
	"testing"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/diagnosis/diagnosistest"
	"plimsoll/internal/diagnosis/rule"
	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/cgroup"
	"plimsoll/internal/hoststat/psi"
)

// vm sets counters of /proc/vmstat, per second.
func vm(e *diagnosis.Evidence, counters map[string]float64) {
	diagnosistest.Each(e, func(i *hoststat.Interval) {
		for name, value := range counters {
			i.VM[name] = value
		}
	})
}

// memory sets gauges, in bytes.
func memory(e *diagnosis.Evidence, gauges map[string]float64) {
	diagnosistest.Each(e, func(i *hoststat.Interval) {
		for name, value := range gauges {
			i.Memory[name] = value
		}
	})
}

// pressure sets the share of time in which tasks wait for a resource.
func pressure(e *diagnosis.Evidence, resource string, some float64) {
	diagnosistest.Each(e, func(i *hoststat.Interval) { i.Pressure[resource] = psi.Pressure{Some: some} })
}

var faulting = hoststat.Process{PID: 5, Name: "java", User: 0.2, System: 0.2, Major: 800, Swap: 2 << 30, Anon: 8 << 30, RSS: 8 << 30, Blocked: 0.5, MemoryGroup: "/system.slice/java.service"}

func TestSwapping(t *testing.T) {
	judge(t, "swapping", []scene{
		{"pages come back", func(e *diagnosis.Evidence) {
			diagnosistest.Run(e, faulting)
			vm(e, map[string]float64{"pswpin": 3000, "pswpout": 3000})
			memory(e, map[string]float64{"MemAvailable": 100 << 20})
			pressure(e, "memory", 0.4)
		}, "java (5)", "add memory"},
		{"although memory is available", func(e *diagnosis.Evidence) {
			diagnosistest.Run(e, faulting)
			vm(e, map[string]float64{"pswpin": 3000})
			pressure(e, "memory", 0.1)
		}, "java (5)", "sysctl vm.swappiness=10"},
		{"beside one that waits for a disk", func(e *diagnosis.Evidence) {
			diagnosistest.Run(e, faulting)
			diagnosistest.Run(e, hoststat.Process{PID: 6, Name: "log", User: 0.1, Blocked: 0.9})
			vm(e, map[string]float64{"pswpin": 3000})
			pressure(e, "memory", 0.1)
		}, "java (5)", ""},
		{"in a group at its limit", func(e *diagnosis.Evidence) {
			limited("/sys/fs/cgroup/system.slice/java.service/memory.max", cgroup.Group{MemoryLimit: 1 << 30, Memory: 1 << 30, LimitHits: 200})(e)
			vm(e, map[string]float64{"pswpin": 3000})
			pressure(e, "memory", 0.1)
		}, "java (5)", "MemoryMax="},
		{"without PSI", func(e *diagnosis.Evidence) {
			diagnosistest.Run(e, faulting)
			vm(e, map[string]float64{"pswpin": 3000})
			diagnosistest.Each(e, func(i *hoststat.Interval) { i.Pressure = nil })
		}, "java (5)", ""},
		{"compressed memory, where nobody waits", func(e *diagnosis.Evidence) {
			p := faulting
			p.User, p.System, p.Major = 0.02, 0.06, 3000
			diagnosistest.Run(e, p)
			vm(e, map[string]float64{"pswpin": 3000})
			pressure(e, "memory", 0.01)
		}, "java (5)", "pages per second"},
		{"the same of a program at work", func(e *diagnosis.Evidence) {
			p := faulting
			p.User, p.System, p.Major = 0.9, 0.06, 3000
			diagnosistest.Run(e, p)
			vm(e, map[string]float64{"pswpin": 3000})
			pressure(e, "memory", 0.01)
		}, "", ""},
		{"swapped long ago", func(e *diagnosis.Evidence) {
			idle := faulting
			idle.Major, idle.Blocked = 0, 0
			diagnosistest.Run(e, idle)
			memory(e, map[string]float64{"SwapFree": 0})
		}, "", ""},
		{"cold pages go out", func(e *diagnosis.Evidence) {
			vm(e, map[string]float64{"pswpout": 5000, "pswpin": 3})
			pressure(e, "memory", 0.01)
		}, "", ""},
	})
}

func TestMemoryReclaim(t *testing.T) {
	short := map[string]float64{"MemAvailable": 200 << 20}
	judge(t, "memory_reclaim", []scene{
		{"direct reclaim", func(e *diagnosis.Evidence) {
			diagnosistest.Run(e, faulting)
			vm(e, map[string]float64{"allocstall_movable": 300, "allocstall_normal": 20, "pgscan_direct": 1e5})
			memory(e, short)
			pressure(e, "memory", 0.2)
		}, "*", "make java (5) use less"},
		{"bursts with memory available", func(e *diagnosis.Evidence) {
			vm(e, map[string]float64{"allocstall_movable": 300})
			pressure(e, "memory", 0.05)
		}, "*", "watermark_scale_factor"},
		{"a node is short, and another one is not", then(bursts, zones(hoststat.Zone{Managed: 8 << 30, Free: 2 << 30, High: 64 << 20}, hoststat.Zone{Node: 1, Managed: 8 << 30, Free: 40 << 20, High: 64 << 20})), "*", "NUMA node 1 is short of memory, while node 0 has 2 GiB"},
		{"that reclaims before it uses another node", then(then(bursts, zones(hoststat.Zone{Managed: 8 << 30, Free: 2 << 30, High: 64 << 20}, hoststat.Zone{Node: 1, Managed: 8 << 30, Free: 40 << 20, High: 64 << 20})), func(e *diagnosis.Evidence) {
			e.Facts.Settings["proc/sys/vm/zone_reclaim_mode"] = "1"
		}), "*", "zone_reclaim_mode=0"},
		{"fragmented memory", then(then(bursts, zones(hoststat.Zone{Managed: 8 << 30, Free: 2 << 30, High: 64 << 20, Blocks: 2 << 20})), func(e *diagnosis.Evidence) {
			e.Facts.Settings["sys/kernel/mm/transparent_hugepage/defrag"] = "[always] defer defer+madvise madvise never"
			vm(e, map[string]float64{"compact_stall": 400})
		}), "*", "echo defer > "},
		{"pages moved together for huge pages, where a group is at its limit", func(e *diagnosis.Evidence) {
			vm(e, map[string]float64{"compact_stall": 40})
			pressure(e, "memory", 0.3)
		}, "", ""},
		{"bursts with free memory in large blocks", then(bursts, zones(hoststat.Zone{Managed: 8 << 30, Free: 2 << 30, High: 64 << 20, Blocks: 1 << 30})), "*", "watermark_scale_factor"},
		{"page cache turns over", func(e *diagnosis.Evidence) {
			vm(e, map[string]float64{"pgscan_kswapd": 5e5, "pgsteal_kswapd": 5e5, "allocstall_movable": 0.1})
			memory(e, map[string]float64{"MemFree": 100 << 20})
			pressure(e, "memory", 0.001)
		}, "", ""},
		{"a group at its limit", func(e *diagnosis.Evidence) {
			vm(e, map[string]float64{"pgscan_kswapd": 0})
			pressure(e, "memory", 0.3)
		}, "", ""},
	})
}

// bursts are allocations that wait although memory is available.
func bursts(e *diagnosis.Evidence) {
	vm(e, map[string]float64{"allocstall_movable": 300})
	pressure(e, "memory", 0.05)
}

// zones sets the zones of memory.
func zones(all ...hoststat.Zone) func(e *diagnosis.Evidence) {
	return func(e *diagnosis.Evidence) {
		diagnosistest.Each(e, func(i *hoststat.Interval) { i.Zones = all })
	}
}

// limited puts java into a group with a memory limit.
func limited(file string, g cgroup.Group) func(e *diagnosis.Evidence) {
	return func(e *diagnosis.Evidence) {
		diagnosistest.Run(e, faulting)
		g.Path, g.MemoryFile = "/system.slice/java.service", file
		diagnosistest.Each(e, func(i *hoststat.Interval) { i.Groups = append(i.Groups, g) })
	}
}

func TestGarbageCollection(t *testing.T) {
	java := func(name string, collecting, working float64, command string) func(e *evidence) {
		return running(process{PID: 5, Name: "java", Command: command, User: collecting + working, Voluntary: 3000, Tasks: []thread{
			{TID: 6, Name: name + "0", User: collecting / 2}, {TID: 7, Name: name + "1", User: collecting / 2}, {TID: 8, Name: "worker", User: working},
		}})
	}
	judge(t, "garbage_collection", []scene{
		{"a small heap", java("GC Thread#", 1.5, 1, "/usr/bin/java -Xmx256m -jar shop.jar"), "java (5)", "larger heap than -Xmx256m"},
		{"a concurrent collector", java("G1 Conc#", 0.8, 1, "/usr/bin/java -jar shop.jar"), "java (5)", "jcmd 5"},
		{"ZGC", java("ZWorkerYoung#", 0.8, 1, "java"), "java (5)", "allocate less"},
		{"enough heap", java("GC Thread#", 0.3, 3, "java -Xmx8g"), "", ""},
		{"an idle program that collects", java("GC Thread#", 0.1, 0.1, "java"), "", ""},
		{"other threads", java("C2 CompilerThre", 2, 1, "java"), "", ""},
	})
}

func TestOutOfMemory(t *testing.T) {
	kills := func(available float64) func(e *evidence) {
		return with(func(i *interval) {
			i.VM["oom_kill"], i.Memory["MemAvailable"] = 3./diagnosistest.Seconds, available*i.Memory["MemTotal"]
		})
	}
	const file = "/sys/fs/cgroup/system.slice/java.service/memory.max"
	killing := cgroup.Group{Version: 2, MemoryLimit: 1 << 30, Memory: 1 << 29, MemoryMax: 1 << 30, MaxFile: file, OutOfMemory: .05, Kills: 3. / diagnosistest.Seconds}
	of := func(change func(g *cgroup.Group)) cgroup.Group {
		g := killing
		change(&g)
		return g
	}
	judge(t, "out_of_memory", []scene{
		{"a group at its limit", all(limited(file, killing), kills(.5)), "java (5)", "systemctl set-property --runtime java.service MemoryMax=1610612736"},
		{"a group above it counts as well", all(group(of(func(g *cgroup.Group) { g.Path, g.MemoryMax = "/system.slice", 2<<30 })), limited(file, killing), kills(.5)), "java (5)", "java.service"},
		{"a soft limit below the hard one", all(limited("/sys/fs/cgroup/system.slice/java.service/memory.high", of(func(g *cgroup.Group) { g.MemoryLimit = 1 << 29 })), kills(.5)), "java (5)", "MemoryMax=1610612736"},
		{"version 1", all(limited(file, of(func(g *cgroup.Group) { g.Version, g.OutOfMemory, g.LimitHits = 1, 0, 5 })), kills(.5)), "java (5)", "1610612736"},
		{"nobody is left in the group", all(group(of(func(g *cgroup.Group) { g.Path, g.MaxFile = "/job", "/sys/fs/cgroup/job/memory.max" })), kills(.5)), "control group /job", "echo 1610612736 > /sys/fs/cgroup/job/memory.max"},
		{"the host's shortage killed in a group", all(limited(file, of(func(g *cgroup.Group) { g.OutOfMemory = 0 })), kills(.01)), "*", "add memory to the host"},
		{"the host", kills(.01), "*", "oom-kill:"},
		{"memory is free again after the kill", all(kills(.01), func(e *evidence) { e.Mean.Memory["MemAvailable"] = .9 * e.Mean.Memory["MemTotal"] }), "*", "add memory to the host"},
		{"a group that is gone", kills(.7), "a control group", "raise the memory limit of the control group"},
		{"a limit that is met", limited(file, of(func(g *cgroup.Group) { g.Kills = 0 })), "", ""},
		{"killed before", with(func(i *interval) { i.VM["oom_kill"] = 0 }), "", ""},
	})
	e := diagnosistest.Healthy(8)
	for _, path := range []string{"/one", "/one10", "/two"} {
		group(of(func(g *cgroup.Group) { g.Path = path }))(e)
	}
	if found := diagnosistest.Found(t, rule.All(), "out_of_memory", e); len(found) != 3 {
		t.Errorf("%d findings about three groups", len(found))
	}
}

func TestMemoryLimit(t *testing.T) {
	version1 := "/sys/fs/cgroup/memory/system.slice/java.service/memory.limit_in_bytes"
	judge(t, "memory_limit", []scene{
		{"version 2", limited("/sys/fs/cgroup/system.slice/java.service/memory.max", cgroup.Group{MemoryLimit: 1 << 30, Memory: 1 << 30, LimitHits: 200, Refaults: 5000, MemoryPressure: psi.Pressure{Some: 0.6}}), "java (5)", "systemctl set-property --runtime java.service MemoryMax=1610612736"},
		{"version 2, high", limited("/sys/fs/cgroup/system.slice/java.service/memory.high", cgroup.Group{MemoryLimit: 1 << 30, Memory: 1 << 30, LimitHits: 200, MemoryPressure: psi.Pressure{Some: 0.6}}), "java (5)", "MemoryHigh="},
		{"version 1", func(e *diagnosis.Evidence) {
			limited(version1, cgroup.Group{MemoryLimit: 1 << 30, Memory: 1 << 30, LimitHits: 200, Refaults: 5000})(e)
			pressure(e, "memory", 0.4)
		}, "java (5)", "MemoryLimit="},
		{"without systemd", func(e *diagnosis.Evidence) {
			p := faulting
			p.MemoryGroup = "/java"
			diagnosistest.Run(e, p)
			g := cgroup.Group{Path: "/java", MemoryFile: "/sys/fs/cgroup/memory/java/memory.limit_in_bytes", MemoryLimit: 100 << 20, Memory: 100 << 20, LimitHits: 50, Refaults: 2000}
			diagnosistest.Each(e, func(i *hoststat.Interval) { i.Groups = append(i.Groups, g) })
			pressure(e, "memory", 0.4)
		}, "java (5)", "echo 201326592 > /sys/fs/cgroup/memory/java/memory.limit_in_bytes"},
		{"read again, hardly under pressure", func(e *diagnosis.Evidence) {
			p := faulting
			p.Major, p.ReadBytes = 0, 40e6
			diagnosistest.Run(e, p)
			g := cgroup.Group{Path: "/system.slice/java.service", MemoryFile: version1, MemoryLimit: 1 << 30, Memory: 1 << 30, LimitHits: 900, Refaults: 5000}
			diagnosistest.Each(e, func(i *hoststat.Interval) { i.Groups = append(i.Groups, g) })
			pressure(e, "memory", 0.008)
		}, "java (5)", "MemoryLimit="},
		{"full of cached files", limited("/sys/fs/cgroup/system.slice/java.service/memory.max", cgroup.Group{MemoryLimit: 1 << 30, Memory: 1 << 30, LimitHits: 900, MemoryPressure: psi.Pressure{Some: 0.004}}), "", ""},
		{"version 1 full of cached files", func(e *diagnosis.Evidence) {
			p := faulting
			p.Major = 0
			diagnosistest.Run(e, p)
			g := cgroup.Group{Path: "/system.slice/java.service", MemoryFile: version1, MemoryLimit: 1 << 30, Memory: 1 << 30, LimitHits: 900, Refaults: 20}
			diagnosistest.Each(e, func(i *hoststat.Interval) { i.Groups = append(i.Groups, g) })
			pressure(e, "memory", 0.01)
		}, "", ""},
		{"far from its limit", limited(version1, cgroup.Group{MemoryLimit: 1 << 30, Memory: 1 << 29}), "", ""},
	})
}

func TestBallooning(t *testing.T) {
	judge(t, "ballooning", []scene{
		{"taken and lacking", func(e *diagnosis.Evidence) {
			memory(e, map[string]float64{hoststat.Balloon: 8 << 30, "MemTotal": 8 << 30})
			pressure(e, "memory", 0.3)
		}, "*", "virsh setmem"},
		{"taken and not lacking", func(e *diagnosis.Evidence) { memory(e, map[string]float64{hoststat.Balloon: 8 << 30}) }, "", ""},
		{"lacking without a balloon", func(e *diagnosis.Evidence) { pressure(e, "memory", 0.3) }, "", ""},
	})
}

func TestHugePages(t *testing.T) {
	never := func(e *diagnosis.Evidence) {
		e.Facts.Settings["sys/kernel/mm/transparent_hugepage/enabled"] = "always madvise [never]"
	}
	graph := hoststat.Process{PID: 5, Name: "graph", User: 1, System: 0.01, Anon: 4 << 30}
	running := func(p hoststat.Process, then func(e *diagnosis.Evidence)) func(e *diagnosis.Evidence) {
		return func(e *diagnosis.Evidence) {
			diagnosistest.Run(e, p)
			then(e)
		}
	}
	small, easy, redis, waiting := graph, graph, graph, graph
	waiting.User, waiting.RunDelay = 0.3, 0.7
	small.Anon, easy.User, redis.Name = 100<<20, 0.2, "redis-server"
	judge(t, "huge_pages", []scene{
		{"off, with a large heap", running(graph, never), "graph (5)", "echo always"},
		{"off, with a large heap, on busy CPUs", running(waiting, never), "graph (5)", "echo always"},
		{"off since it started", running(graph, then(never, func(e *diagnosis.Evidence) { memory(e, map[string]float64{"AnonHugePages": 4 << 30}) })), "", ""},
		{"with madvise", running(graph, func(*diagnosis.Evidence) {}), "", ""},
		{"off, with a small heap", running(small, never), "", ""},
		{"off, at an easy load", running(easy, never), "", ""},
		{"off, as Redis asks for", running(redis, never), "", ""},
	})
}

func TestPageCacheAsDisk(t *testing.T) {
	fio := hoststat.Process{PID: 5, Name: "fio", User: 0.3, System: 0.6, ReadChars: 2e9, ReadCalls: 5e5, ReadBytes: 1e6}
	direct, database, images, raw := fio, fio, fio, fio
	images.Command, raw.Command = "fio --name=d1 --ioengine=rbd --pool=rbd", "fio --ioengine=libaio --name=rbd"
	direct.ReadBytes, database.Name = 2e9, "postgres"
	judge(t, "page_cache_as_disk", []scene{
		{"fio reads from memory", func(e *diagnosis.Evidence) { diagnosistest.Run(e, fio) }, "fio (5)", "--direct=1"},
		{"fio reads from the disk", func(e *diagnosis.Evidence) { diagnosistest.Run(e, direct) }, "", ""},
		{"fio reads images of a cluster", func(e *diagnosis.Evidence) { diagnosistest.Run(e, images) }, "", ""},
		{"fio reads files, and has a name like an engine", func(e *diagnosis.Evidence) { diagnosistest.Run(e, raw) }, "fio (5)", "--direct=1"},
		{"a database reads from memory", func(e *diagnosis.Evidence) { diagnosistest.Run(e, database) }, "", ""},
	})
}

// Reading dropped pages again takes CPU time: a limit is why CPUs are busy where that is a good part of it, and not otherwise.
func TestMemoryLimitKeepsCPUsBusy(t *testing.T) {
	for refaults, want := range map[float64]string{24_000: "memory_limit", 2_000: ""} {
		e := diagnosistest.Healthy(2)
		diagnosistest.Run(e, hoststat.Process{PID: 5, Name: "postgres", Group: "/db", MemoryGroup: "/db", User: 1, System: .6, RunDelay: 5, Blocked: .5, ReadBytes: refaults * 4096, Voluntary: 20_000})
		g := cgroup.Group{Path: "/db", MemoryFile: "/sys/fs/cgroup/db/memory.max", MemoryLimit: 72 << 20, Memory: 72 << 20, LimitHits: 20_000, Refaults: refaults, MemoryPressure: psi.Pressure{Some: .106}}
		diagnosistest.Each(e, func(i *hoststat.Interval) { i.Groups = append(i.Groups, g) })
		diagnosistest.Use(e, 1, 0, 1)
		pressure(e, "cpu", .6)
		found, _ := diagnosis.Judge(e, rule.All())
		for _, f := range found {
			if f.Rule == "cpu_saturated" && f.Cause != want {
				t.Errorf("%g pages per second: cpu_saturated follows from %q, want %q", refaults, f.Cause, want)
			}
		}
		if !slices.ContainsFunc(found, func(f diagnosis.Finding) bool { return f.Rule == "cpu_saturated" }) || !slices.ContainsFunc(found, func(f diagnosis.Finding) bool { return f.Rule == "memory_limit" }) {
			t.Errorf("%g pages per second: %+v", refaults, found)
		}
	}
}
