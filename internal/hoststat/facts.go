package hoststat

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/hoststat/parse"
	"plimsoll/internal/platform"
)

// Facts are what does not change by itself: the processors and the settings of a host.
type Facts struct {
	Host      string               `json:"host"`
	Kernel    string               `json:"kernel"`
	Virtual   bool                 `json:"virtual"`             // a VM
	CPUs      []Processor          `json:"cpus"`                // by number; offline ones are zero
	Disks     map[string]DiskFacts `json:"disks,omitempty"`     // block devices by name
	ClockRead float64              `json:"clockRead,omitempty"` // seconds that a reading of the clock takes; 0 where it was not measured
	Settings  map[string]string    `json:"settings"`            // files below /proc/sys and /sys by their names, such as "proc/sys/vm/swappiness"
}

// Processor is the place of a CPU in the topology.
type Processor struct {
	Online   bool  `json:"online"`
	Package  int   `json:"package"`
	Node     int   `json:"node"`
	Core     int   `json:"core"`
	Siblings []int `json:"siblings,omitempty"` // CPUs of the same core, this one included
	Cache    []int `json:"cache,omitempty"`    // CPUs that share the last-level cache, this one included
}

// Facts reads the facts of the host.
func (r *Reader) Facts() (*Facts, error) {
	f := &Facts{Settings: map[string]string{}}
	f.Host, _ = r.line("proc/sys/kernel/hostname")
	f.Kernel, _ = r.line("proc/sys/kernel/osrelease")
	f.Virtual = r.virtual()
	online, err := r.line("sys/devices/system/cpu/online")
	if err != nil {
		return nil, err
	}
	cpus, err := platform.ParseCPUs(online)
	if err != nil {
		return nil, fmt.Errorf("CPUs online: %w", err)
	}
	for _, n := range cpus {
		f.CPUs = grown(f.CPUs, n+1)
		f.CPUs[n] = r.processor(n)
	}
	for _, name := range settings {
		if value, err := r.line(name); err == nil {
			f.Settings[name] = value
		}
	}
	r.folderSettings(f, "sys/block", "queue/", blockSettings)
	r.folderSettings(f, "sys/class/net", "", linkSettings)
	r.readStack(f)
	if root, ok := r.root.(interface{ ClockRead() time.Duration }); ok {
		f.ClockRead = root.ClockRead().Seconds()
	}
	return f, nil
}

// settings are the settings of the host that rules look at.
var settings = []string{
	"proc/sys/vm/swappiness", "proc/sys/vm/dirty_ratio", "proc/sys/vm/dirty_background_ratio", "proc/sys/vm/dirty_bytes",
	"proc/sys/vm/dirty_background_bytes", "proc/sys/vm/overcommit_memory", "proc/sys/vm/watermark_scale_factor", "proc/sys/vm/min_free_kbytes", "proc/sys/kernel/task_delayacct", "proc/sys/vm/nr_hugepages", "proc/sys/vm/zone_reclaim_mode",
	"proc/sys/kernel/numa_balancing", "proc/sys/kernel/sched_autogroup_enabled", "proc/sys/fs/file-max",
	"proc/sys/net/core/somaxconn", "proc/sys/net/core/netdev_max_backlog", "proc/sys/net/core/rmem_max", "proc/sys/net/core/wmem_max",
	"proc/sys/net/core/default_qdisc", "proc/sys/net/ipv4/tcp_rmem", "proc/sys/net/ipv4/tcp_wmem", "proc/sys/net/ipv4/tcp_max_syn_backlog",
	"proc/sys/net/ipv4/tcp_congestion_control", "proc/sys/net/ipv4/tcp_window_scaling", "proc/sys/net/ipv4/tcp_syncookies",
	"proc/sys/net/ipv4/ip_local_port_range", "proc/sys/net/ipv4/tcp_tw_reuse", "proc/sys/net/ipv4/tcp_slow_start_after_idle",
	"sys/kernel/mm/transparent_hugepage/enabled", "sys/kernel/mm/transparent_hugepage/defrag", "sys/kernel/mm/ksm/run",
	"sys/devices/system/cpu/smt/active", "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "sys/devices/system/cpu/cpu0/cpufreq/scaling_driver",
	"sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq",
	"sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_min_freq", "sys/devices/system/cpu/cpu0/cpufreq/base_frequency", "sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference",
	"sys/devices/system/cpu/cpufreq/boost", "sys/devices/system/cpu/intel_pstate/no_turbo", "sys/devices/system/cpu/intel_pstate/max_perf_pct",
	"sys/devices/system/clocksource/clocksource0/current_clocksource", "sys/devices/system/clocksource/clocksource0/available_clocksource", "sys/hypervisor/type", "sys/class/dmi/id/sys_vendor", "sys/class/dmi/id/product_name",
}

// blockSettings are those of each block device below queue/, linkSettings those of each network
// device.
var (
	blockSettings = []string{"scheduler", "read_ahead_kb", "nr_requests", "rotational", "write_cache", "max_sectors_kb", "wbt_lat_usec", "nomerges", "logical_block_size"}
	linkSettings  = []string{"mtu", "speed", "tx_queue_len", "operstate", "device/modalias", "queues/rx-0/rps_cpus", "gro_flush_timeout", "napi_defer_hard_irqs"}
)

func (r *Reader) folderSettings(f *Facts, folder, below string, names []string) {
	devices, err := r.root.Names(folder)
	if err != nil {
		return
	}
	slices.Sort(devices)
	for _, device := range devices {
		for _, name := range names {
			at := path.Join(folder, device, below+name)
			if value, err := r.line(at); err == nil {
				f.Settings[at] = value
			}
		}
	}
}

// virtual reports whether the CPUs say that a hypervisor runs them.
func (r *Reader) virtual() bool {
	text, err := r.file("proc/cpuinfo")
	if err != nil {
		return false
	}
	first, _, _ := bytes.Cut(text, []byte("\n\n"))
	if bytes.Contains(first, []byte(" hypervisor")) {
		return true
	}
	kind, err := r.line("sys/hypervisor/type")
	return err == nil && kind != ""
}

// line is the text of a file without spaces around it.
func (r *Reader) line(name string) (string, error) {
	text, err := r.file(name)
	return string(bytes.TrimSpace(text)), err
}

func (r *Reader) processor(n int) Processor {
	at := fmt.Sprintf("sys/devices/system/cpu/cpu%d/", n)
	p := Processor{Online: true}
	integer := func(name string) int {
		text, _ := r.line(at + name)
		v, _ := parse.Number([]byte(text))
		return int(v)
	}
	list := func(name string) []int {
		text, _ := r.line(at + name)
		cpus, err := platform.ParseCPUs(text)
		if err != nil || len(cpus) == 0 {
			return []int{n}
		}
		return cpus
	}
	p.Package, p.Core = integer("topology/physical_package_id"), integer("topology/core_id")
	p.Siblings = list("topology/thread_siblings_list")
	p.Cache = []int{n}
	for cache := 4; cache >= 0; cache-- {
		if kind, err := r.line(fmt.Sprintf("%scache/index%d/type", at, cache)); err == nil && kind != "Instruction" {
			p.Cache = list(fmt.Sprintf("cache/index%d/shared_cpu_list", cache))
			break
		}
	}
	names, _ := r.root.Names(strings.TrimSuffix(at, "/"))
	for _, name := range names {
		if rest, found := strings.CutPrefix(name, "node"); found {
			if v, ok := parse.Number([]byte(rest)); ok {
				p.Node = int(v)
			}
		}
	}
	return p
}
