package factor

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"plimsoll/internal/pattern"
	"plimsoll/internal/platform"
)

// exclusive are pairs of sysctls: writing one sets the other to 0 (mm/page-writeback.c,
// mm/util.c). If onlyBySecond is set, the first rejects 0 and becomes 0 only by a change of
// the second.
var exclusive = []struct {
	first, second string
	onlyBySecond  bool
}{
	{"vm/dirty_bytes", "vm/dirty_ratio", true},
	{"vm/dirty_background_bytes", "vm/dirty_background_ratio", true},
	{"vm/overcommit_kbytes", "vm/overcommit_ratio", false},
}

// together are sysctls that the kernel changes when another one of the group is written.
var together = [][]string{
	{"kernel/watchdog", "kernel/nmi_watchdog", "kernel/soft_watchdog"},
	{"kernel/perf_cpu_time_max_percent", "kernel/perf_event_max_sample_rate"},
	{"net/ipv4/tcp_congestion_control", "net/ipv4/tcp_allowed_congestion_control"},
	{"net/netfilter/nf_conntrack_max", "net/nf_conntrack_max"},
}

// alias maps sysctls to others that are the same setting.
var alias = map[string]string{
	"net/ipv4/ip_forward":       "net/ipv4/conf/all/forwarding",
	"net/nf_conntrack_max":      "net/netfilter/nf_conntrack_max",
	"vm/nr_hugepages_mempolicy": "vm/nr_hugepages",
}

// final are sysctls that cannot be restored, with the reason.
var final = []struct {
	name pattern.Pattern
	why  string
}{
	{pattern.Of(`^kernel/(modules_disabled|kexec_load_disabled|unprivileged_bpf_disabled|tainted)$|^kernel/yama/ptrace_scope$`), "the kernel does not let it return to a lower value"},
	{pattern.Of(`^vm/(drop_caches|compact_memory|stat_refresh)$|^net/ipv[46]/route/flush$`), "it is a command to the kernel without a value"},
	{pattern.Of(`^kernel/(random/.*|ns_last_pid|(msg|sem|shm)_next_id)$|^fs/(inode-nr|inode-state|dentry-state|file-nr|aio-nr)$`), "the kernel changes it by itself"},
	{pattern.Of(`^net/ipv6/conf/[^/]+/(disable_ipv6|addr_gen_mode|stable_secret)$`), "the kernel drops addresses and routes with it"},
}

const sysctls = "/proc/sys/"

// returns rejects a sysctl that could not be restored.
func returns(file string) error {
	name := strings.TrimPrefix(file, sysctls)
	for _, f := range final {
		if f.name().MatchString(name) {
			return fmt.Errorf("sysctl %s could not be restored after the run: %s", strings.ReplaceAll(name, "/", "."), f.why)
		}
	}
	return nil
}

var (
	ofEach    = pattern.Of(`^(net/ipv[46]/(?:conf|neigh))/(all|default)/([^/]+)$`)
	neighbour = pattern.Of(`^net/ipv[46]/neigh/[^/]+/(base_reachable_time|retrans_time|unres_qlen)(_ms|_bytes)?$`)
)

// sysctlEffect finds what a sysctl is coupled with.
func sysctlEffect(ctx context.Context, p Env) (Effect, error) {
	file, err := sysctlFile(p.Target)
	if err != nil {
		return Effect{}, err
	}
	if err := returns(file); err != nil {
		return Effect{}, err
	}
	name := strings.TrimPrefix(file, sysctls)
	e := Effect{Sets: []string{name}}
	if other := alias[name]; other != "" {
		e.Sets = append(e.Sets, other)
		name = other
	}
	for other, of := range alias {
		if of == name {
			e.Sets = append(e.Sets, other)
		}
	}
	if err := exclusiveEffect(ctx, p.Machine, name, &e); err != nil {
		return e, err
	}
	for _, group := range together {
		if slices.Contains(group, name) {
			e.Coupled = append(e.Coupled, group...)
		}
	}
	if err := networkEffect(ctx, p.Machine, name, &e); err != nil {
		return e, err
	}
	if name == "vm/nr_hugepages" {
		if e.Coupled, err = hugepagesOfNodes(ctx, p.Machine); err != nil {
			return e, err
		}
	}
	slices.Sort(e.Sets)
	for _, list := range [][]string{e.Sets, e.Coupled} {
		for i, name := range list {
			if !path.IsAbs(name) {
				list[i] = sysctls + name
			}
		}
	}
	e.Sets = slices.Compact(e.Sets)
	return e, nil
}

// exclusiveEffect is the effect of a sysctl of a pair. A pair of zeros cannot be restored if
// the first rejects 0.
func exclusiveEffect(ctx context.Context, m platform.Machine, name string, e *Effect) error {
	for _, pair := range exclusive {
		switch name {
		case pair.second:
			e.Coupled = append(e.Coupled, pair.first)
		case pair.first:
			e.Coupled = append(e.Coupled, pair.second)
			now, err := ReadCoupled(ctx, m, []string{sysctls + pair.first, sysctls + pair.second})
			if err != nil {
				return err
			}
			if pair.onlyBySecond && now[sysctls+pair.first] == "0" && now[sysctls+pair.second] == "0" {
				dotted := func(name string) string { return strings.ReplaceAll(name, "/", ".") }
				return fmt.Errorf("sysctl %s could not be restored after the run: it and %s are both 0, and the kernel rejects 0 for it: set %s before the run, or vary that", dotted(pair.first), dotted(pair.second), dotted(pair.second))
			}
		}
	}
	return nil
}

// networkEffect is the effect of a sysctl of interfaces. Writing "all" or "default" affects
// each; forwarding also affects redirects (net/ipv4/devinet.c, net/ipv6/addrconf.c). Neighbour
// tables have some times in two units.
func networkEffect(ctx context.Context, m platform.Machine, name string, e *Effect) error {
	if parts := ofEach().FindStringSubmatch(name); parts != nil {
		folders, err := Below(ctx, m, sysctls+parts[1])
		if err != nil {
			return err
		}
		for _, folder := range folders {
			e.Coupled = append(e.Coupled, folder+"/"+parts[3])
			if parts[3] == "forwarding" && parts[1] == "net/ipv4/conf" {
				e.Coupled = append(e.Coupled, folder+"/accept_redirects")
			}
		}
		e.Coupled = slices.DeleteFunc(e.Coupled, func(file string) bool { return file == sysctls+name })
	}
	if parts := neighbour().FindStringSubmatch(name); parts != nil {
		short := strings.TrimSuffix(name, parts[2])
		for _, unit := range []string{"", "_ms", "_bytes"} {
			if short+unit != name {
				e.Coupled = append(e.Coupled, short+unit)
			}
		}
	}
	return nil
}

// hugepagesOfNodes are the NUMA nodes' shares of the default huge page pool, which the kernel
// redistributes.
func hugepagesOfNodes(ctx context.Context, m platform.Machine) ([]string, error) {
	const nodes = "/sys/devices/system/node"
	text, err := m.ReadFile(ctx, "/proc/meminfo")
	if err != nil {
		return nil, fmt.Errorf("%s: find the size of huge pages: %w", m.Name(), err)
	}
	_, rest, _ := strings.Cut(string(text), "Hugepagesize:")
	size := strings.Fields(rest + " 2048")[0]
	folders, err := Below(ctx, m, nodes)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, folder := range folders {
		if strings.HasPrefix(folder, nodes+"/node") {
			files = append(files, folder+"/hugepages/hugepages-"+size+"kB/nr_hugepages")
		}
	}
	return files, nil
}
