package diagnosistest

import (
	"fmt"

	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/cgroup"
	"plimsoll/internal/hoststat/power"
	"plimsoll/internal/hoststat/psi"
)

const (
	cacheCPUs  = 8
	nodeCPUs   = 32
	mostQueues = 16 // of a device
	gib        = 1 << 30
)

// facts describe the processors: CPU 2n and 2n+1 are the threads of a core.
func facts(cpus int) *hoststat.Facts {
	f := &hoststat.Facts{Host: "host", Kernel: "6.12.0", ClockRead: 3e-8, Settings: map[string]string{}}
	for n := range cpus {
		p := hoststat.Processor{Online: true, Package: n / nodeCPUs, Node: n / nodeCPUs, Core: n / 2, Siblings: span(n/2*2, min(2, cpus-n/2*2))}
		first := n / cacheCPUs * cacheCPUs
		p.Cache = span(first, min(cacheCPUs, cpus-first))
		f.CPUs = append(f.CPUs, p)
	}
	for name, value := range map[string]string{
		"sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc", "sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet acpi_pm",
		"proc/sys/vm/swappiness": "60", "proc/sys/vm/dirty_ratio": "20", "proc/sys/vm/dirty_background_ratio": "10",
		"proc/sys/kernel/numa_balancing": "1", "proc/sys/fs/file-max": "9223372036854775807", "proc/sys/net/core/somaxconn": "4096",
		"proc/sys/net/core/rmem_max": "4194304", "proc/sys/net/core/wmem_max": "4194304", "proc/sys/net/ipv4/tcp_rmem": "4096 131072 33554432",
		"proc/sys/net/ipv4/tcp_wmem": "4096 16384 4194304", "proc/sys/net/ipv4/tcp_max_syn_backlog": "4096",
		"sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never", "sys/devices/system/cpu/smt/active": "1",
		"sys/devices/system/cpu/cpu0/cpufreq/base_frequency": "2600000", "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_min_freq": "800000",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance", "sys/devices/system/cpu/cpu0/cpufreq/scaling_driver": "intel_pstate",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq": "3500000", "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq": "3500000",
		"sys/block/nvme0n1/queue/scheduler": "[none] mq-deadline", "sys/block/nvme0n1/queue/read_ahead_kb": "128",
		"sys/block/nvme0n1/queue/nr_requests": "1023", "sys/block/nvme0n1/queue/rotational": "0",
		"proc/sys/net/ipv4/ip_local_port_range": "32768\t60999", "sys/class/net/eth0/device/modalias": "pci:v00008086", "sys/class/net/eth0/speed": fmt.Sprint(10000 * max(1, cpus/32)), "sys/class/net/eth0/mtu": "1500", "sys/class/net/eth0/operstate": "up", "sys/class/net/eth0/queues/rx-0/rps_cpus": "0",
	} {
		f.Settings[name] = value
	}
	return f
}

// span is n CPUs from a first one on.
func span(first, n int) (cpus []int) {
	for i := range n {
		cpus = append(cpus, first+i)
	}
	return cpus
}

// every is a count per second on each CPU.
func every(cpus int, rate float64) []float64 {
	out := make([]float64, cpus)
	for n := range out {
		out[n] = rate
	}
	return out
}

// mean is the mean of the series.
func mean(cpus int) *hoststat.Interval {
	n := float64(cpus)
	i := &hoststat.Interval{
		At: Seconds, Seconds: Seconds, Switches: 2000 * n, Forks: 2, Running: 0.3 * n, Blocked: 0,
		Pressure: map[string]psi.Pressure{"cpu": {Some: 0.02}, "io": {Some: 0.002, Full: 0.001}, "memory": {}, "irq": {}},
		VM:       map[string]float64{"pgfault": 500 * n, "pgmajfault": 0.1, "pswpin": 0, "pswpout": 0, "pgscan_direct": 0, "pgsteal_direct": 0, "pgscan_kswapd": 0, "pgsteal_kswapd": 0, "pgpgin": 100, "pgpgout": 2000},
		Memory:   memory(n),
		Disks:    []hoststat.Disk{{Name: "nvme0n1", Reads: 50, ReadBytes: 800e3, ReadTime: 0.005, Writes: 100, WriteBytes: 2e6, WriteTime: 0.003, Flushes: 10, FlushTime: 0.001, Busy: 0.01, QueueTime: 0.009}},
		Links: []hoststat.Link{
			{Name: "eth0", ReceivedBytes: 2e6 * n, ReceivedPackets: 3000 * n, SentBytes: 6e6 * n, SentPackets: 5000 * n},
			{Name: "lo", ReceivedBytes: 1e6, ReceivedPackets: 1000, SentBytes: 1e6, SentPackets: 1000},
		},
		Net: map[string]float64{
			"Tcp.OutSegs": 5000 * n, "Tcp.InSegs": 3000 * n, "Tcp.RetransSegs": 0.2 * n, "Tcp.PassiveOpens": 20, "Tcp.ActiveOpens": 20,
			"TcpExt.ListenOverflows": 0, "TcpExt.ListenDrops": 0, "TcpExt.TCPTimeouts": 0,
		},
		Groups: []cgroup.Group{
			{Path: "/", Usage: 0.25 * n}, {Path: "/system.slice", Usage: 0.24 * n},
			{Path: "/system.slice/nginx.service", Usage: 0.08 * n, Memory: gib}, {Path: "/system.slice/postgresql.service", Usage: 0.16 * n, Memory: 4 * gib},
		},
		SoftIRQs: map[string][]float64{}, Processes: processes(cpus), Network: sockets(cpus),
	}
	i.Power = &power.State{At: Seconds, Domains: []power.Domain{{Name: "intel-rapl:0", Power: 90, Limit: 205}}}
	for range cpus {
		i.Power.CPUs = append(i.Power.CPUs, power.CPU{Frequency: 3.1e9, Idle: []power.Idle{
			{Name: "POLL", Usage: 20, Time: 1e-4}, {Name: "C1", Latency: 2e-6, Usage: 1500, Time: 0.2}, {Name: "C6", Latency: 133e-6, Usage: 150, Time: 0.5},
		}})
		i.CPUs = append(i.CPUs, hoststat.CPU{User: 0.17, System: 0.07, SoftIRQ: 0.01, IOWait: 0.002, Idle: 0.748})
	}
	for name, rate := range map[string]float64{"HI": 0, "TIMER": 150, "NET_TX": 1, "NET_RX": 2500, "BLOCK": 100 / n, "IRQ_POLL": 0, "TASKLET": 1, "SCHED": 300, "HRTIMER": 0, "RCU": 200} {
		i.SoftIRQs[name] = every(cpus, rate)
	}
	for name, rate := range map[string]float64{"LOC": 400, "RES": 150, "CAL": 30, "TLB": 10} {
		i.IRQs = append(i.IRQs, hoststat.IRQ{Name: name, Device: name, PerCPU: every(cpus, rate)})
	}
	for q := range min(cpus, mostQueues) { // a queue per CPU
		for d, device := range []string{"PCI-MSIX eth0-TxRx-", "PCI-MSIX nvme0q"} {
			counts := make([]float64, cpus)
			counts[q] = 2000
			i.IRQs = append(i.IRQs, hoststat.IRQ{Name: fmt.Sprint(40 + 2*q + d), Device: device + fmt.Sprint(q), PerCPU: counts})
		}
	}
	for first := 0; first < cpus; first += nodeCPUs {
		i.Nodes = append(i.Nodes, hoststat.Node{
			CPUs:   span(first, min(nodeCPUs, cpus-first)),
			Stat:   map[string]float64{"numa_hit": 20000, "numa_miss": 0, "numa_foreign": 0, "interleave_hit": 0, "local_node": 19800, "other_node": 200},
			Memory: map[string]float64{"MemTotal": 2 * gib * nodeCPUs, "MemFree": gib * nodeCPUs / 2},
		})
	}
	return i
}

// memory is in GiB per CPU.
func memory(n float64) map[string]float64 {
	return map[string]float64{
		"MemTotal": 2 * gib * n, "MemFree": gib * n / 2, "MemAvailable": 1.4 * gib * n, "Buffers": gib * n / 20, "Cached": 0.8 * gib * n,
		"Dirty": 1 << 20, "Writeback": 0, "AnonPages": gib * n / 2, "SwapTotal": 4 * gib, "SwapFree": 4 * gib, "AnonHugePages": 0, hoststat.Balloon: 0, "HugePages_Total": 0,
	}
}

// processes are web server, database and system services.
func processes(cpus int) (all []hoststat.Process) {
	n := float64(cpus)
	for w := range cpus { // a worker and a backend per CPU
		all = append(all,
			hoststat.Process{PID: 2000 + w, Parent: 1999, Name: "postgres", Command: "postgres: app app 10.0.0.2 idle", User: 0.11, System: 0.05, RunDelay: 0.002, Voluntary: 500, Involuntary: 3, RSS: gib / 10, CPU: w},
			hoststat.Process{PID: 1000 + w, Parent: 999, Name: "nginx", Command: "nginx: worker process", User: 0.05, System: 0.03, RunDelay: 0.001, Voluntary: 400, Involuntary: 2, RSS: gib / 20, CPU: w})
	}
	all = append(all,
		hoststat.Process{PID: 700, Parent: 1, Name: "systemd-journal", User: 0.001 * n, System: 0.001 * n, Voluntary: 10, RSS: gib / 50},
		hoststat.Process{PID: 15, Parent: 2, Name: "ksoftirqd/0", Command: " ", System: 0.0005, Voluntary: 5, Group: "/"})
	for p := range all {
		if all[p].Name == "postgres" {
			all[p].Group = "/system.slice/postgresql.service"
		}
		complete(&all[p], cpus)
	}
	return all
}
