package hosttest

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Snapshot is the state of a host: a value for each thing that can be read, by its name, such as "/proc/sys/vm/swappiness" or "mount /proc".
type Snapshot map[string]string

// drifting are the names of values that change without anybody's doing, some of them too seldom for two snapshots to show it.
var drifting = regexp.MustCompile(`^(/proc/sys/(fs/(inode-|dentry-state|file-nr|aio-nr|quota/)|kernel/(random/|pty/nr|ns_last_pid|tainted|sched_domain/|perf_event_max_sample_rate|perf_cpu_time_max_percent)|net/netfilter/nf_conntrack_count|sunrpc/transports)` +
	`|/sys/kernel/mm/(ksm/(pages_|full_scans|stable_node|general_profit|smart)|transparent_hugepage/(khugepaged/(pages_collapsed|full_scans)|hugepages-.*/stats/)|numa|lru_gen)|/sys/devices/system/cpu/.*/(scaling_cur_freq|cpuinfo_cur_freq|cpuinfo_avg_freq|stats/))`)

// Take reads the state of the host as this process sees it. Files below the folders of except are left out.
func Take(except ...string) Snapshot {
	s := Snapshot{}
	s.files("/proc/sys", nil)
	s.files("/sys/kernel/mm", nil)
	s.settings()
	s.interfaces()
	s.groups()
	s.processes()
	s.mounts()
	for _, name := range []string{"/proc/sysvipc/shm", "/proc/sysvipc/sem", "/proc/sysvipc/msg"} {
		s.lines(name)
	}
	for _, dir := range []string{"/dev/shm", "/dev/mqueue", "/tmp", "/var/tmp", "/run", "/var/lib/plimsoll", os.TempDir()} {
		s.tree(dir, except)
	}
	return s
}

// Diff says what differs from before to after, a line each, in order of the names.
func Diff(before, after Snapshot) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(before)) {
		switch now, there := after[name]; {
		case !there:
			lines = append(lines, fmt.Sprintf("%s is gone, it was %q", name, before[name]))
		case now != before[name]:
			lines = append(lines, fmt.Sprintf("%s is %q, it was %q", name, now, before[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if _, there := before[name]; !there {
			lines = append(lines, fmt.Sprintf("%s is new: %q", name, after[name]))
		}
	}
	return lines
}

// Without leaves out the values whose names are in the list.
func (s Snapshot) Without(names []string) Snapshot {
	rest := maps.Clone(s)
	for _, name := range names {
		delete(rest, name)
	}
	return rest
}

// differing are the names of the values that two snapshots do not share.
func differing(a, b Snapshot) []string {
	var names []string
	for name, value := range a {
		if other, there := b[name]; !there || other != value {
			names = append(names, name)
		}
	}
	for name := range b {
		if _, there := a[name]; !there {
			names = append(names, name)
		}
	}
	return names
}

// file takes the content of a file that can be read.
func (s Snapshot) file(name string) {
	if drifting.MatchString(name) {
		return
	}
	if text, err := os.ReadFile(name); err == nil {
		s[name] = strings.TrimSpace(string(text))
	}
}

// files takes all files below a folder, or those that match.
func (s Snapshot) files(dir string, match *regexp.Regexp) {
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // gone meanwhile, or not for us
		case d.IsDir() && d.Name() == "binfmt_misc":
			return fs.SkipDir // reading it mounts it
		case d.Type().IsRegular() && (match == nil || match.MatchString(name)):
			s.file(name)
		}
		return nil
	})
}

var ofCPU = regexp.MustCompile(`/(online|scaling_[a-z_]+|energy_performance_preference|energy_perf_bias|control|no_turbo|boost|disable)$`)

// settings takes those of block devices, processors and interrupts.
func (s Snapshot) settings() {
	folders, _ := filepath.Glob("/sys/block/*/queue") // the pattern is good
	for _, dir := range folders {
		if !strings.HasPrefix(dir, "/sys/block/loop") { // plimsoll makes none, others of the host do
			s.files(dir, nil)
		}
	}
	s.files("/sys/devices/system/cpu", ofCPU)
	masks, _ := filepath.Glob("/proc/irq/*/smp_affinity")
	for _, name := range masks {
		s.file(name)
	}
}

var ofInterface = regexp.MustCompile(`/(mtu|flags|tx_queue_len|gro_flush_timeout|napi_defer_hard_irqs|threaded|rps_cpus|rps_flow_cnt|xps_cpus)$`)

// interfaces takes network interfaces with their addresses, routes and queueing disciplines.
func (s Snapshot) interfaces() {
	links, _ := filepath.Glob("/sys/class/net/*")
	for _, link := range links {
		s["interface "+filepath.Base(link)] = "present"
		if folder, err := filepath.EvalSymlinks(link); err == nil {
			s.files(folder, ofInterface)
		}
	}
	s.lines("/proc/net/route")
	s.routes("/proc/net/ipv6_route")
	s.lines("/proc/net/if_inet6")
	for _, argv := range [][]string{{"tc", "qdisc", "show"}, {"ip", "-o", "address"}} {
		text, err := exec.Command(argv[0], argv[1:]...).Output()
		if err == nil {
			s.each(strings.Join(argv, " "), string(text))
		}
	}
}

// lines takes each line of a file as a value of its own: what is there, not in which order.
func (s Snapshot) lines(name string) {
	if text, err := os.ReadFile(name); err == nil {
		s.each(name, string(text))
	}
}

// counts are the references to an IPv6 route and its uses, between its metric and its flags: who has connected changes them.
var counts = regexp.MustCompile(` [0-9a-f]{8} [0-9a-f]{8}( [0-9a-f]{8} +\S+)$`)

func (s Snapshot) routes(name string) {
	if text, err := os.ReadFile(name); err == nil {
		for line := range strings.Lines(string(text)) {
			s.each(name, counts.ReplaceAllString(strings.TrimSpace(line), "$1"))
		}
	}
}

func (s Snapshot) each(what, text string) {
	for line := range strings.Lines(text) {
		s[what+": "+strings.Join(strings.Fields(line), " ")] = "present"
	}
}

var ofPlimsoll = regexp.MustCompile(`/plimsoll-([0-9]+)-`)

// groups takes the control groups of a plimsoll in this PID namespace. Others come and go on any host: with sessions, services, containers.
func (s Snapshot) groups() {
	space, _ := os.Readlink("/proc/self/ns/pid")
	_ = filepath.WalkDir("/sys/fs/cgroup", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil
		}
		if m := ofPlimsoll.FindStringSubmatch(name); m != nil && strings.Contains(space, "["+m[1]+"]") {
			s["control group "+name] = "present"
		}
		return nil
	})
}

// processes takes the processes that are not dead, other than this one's and the kernel's, and the namespaces that they are in.
func (s Snapshot) processes() {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range folders {
		stat, err := os.ReadFile(dir + "/stat")
		end := strings.LastIndexByte(string(stat), ')')
		if err != nil || end < 0 {
			continue
		}
		fields := strings.Fields(string(stat[end+1:])) // state, parent, ...
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" || fields[1] == "2" || pid == 2 || fields[1] == strconv.Itoa(os.Getpid()) && s.reading(dir) {
			continue
		}
		line, _ := os.ReadFile(dir + "/cmdline")
		s[fmt.Sprintf("process %d started at %s", pid, fields[19])] = strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))
		spaces, _ := filepath.Glob(dir + "/ns/*")
		for _, link := range spaces {
			if target, err := os.Readlink(link); err == nil {
				s["namespace "+target] = "present"
			}
		}
	}
}

// reading says that a child of ours is one of those that this package starts to read the host.
func (s Snapshot) reading(dir string) bool {
	line, err := os.ReadFile(dir + "/cmdline")
	return err != nil || strings.HasPrefix(string(line), "tc\x00qdisc\x00show") || strings.HasPrefix(string(line), "ip\x00-o")
}

// mount is a line of mountinfo.
type mount struct{ id, parent, at, what string }

// mounts takes the mounts that can be seen, without the numbers that differ from one mount to the next.
func (s Snapshot) mounts() {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return
	}
	all := map[string]mount{}
	var order []string
	for line := range strings.Lines(string(text)) {
		about, source, _ := strings.Cut(strings.TrimSpace(line), " - ")
		f := strings.Fields(about)
		if len(f) < 6 {
			continue
		}
		all[f[0]] = mount{f[0], f[1], f[4], fmt.Sprintf("[%s %s %s]", f[3], f[5], source)}
		order = append(order, f[0])
	}
	for _, id := range order {
		if m := all[id]; !hidden(m, all) {
			s["mount "+m.at] += m.what
		}
	}
}

// hidden says that a mount lies below a folder over which something else is mounted, as those of others of the host do below the private
// folders of a contained test.
func hidden(m mount, all map[string]mount) bool {
	above := map[string]bool{}
	for at, ok := m, true; ok && !above[at.id]; at, ok = all[at.parent] {
		above[at.id] = true
	}
	for _, other := range all {
		if strings.HasPrefix(m.at, strings.TrimSuffix(other.at, "/")+"/") && !above[other.id] {
			return true
		}
	}
	return false
}

// tree takes what lies below a folder, without what is mounted there.
func (s Snapshot) tree(dir string, except []string) {
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if slices.Contains(except, name) {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil || name == dir {
			return nil
		}
		what := info.Mode().String()
		if d.Type().IsRegular() {
			what += fmt.Sprintf(" %d bytes", info.Size())
		}
		s["file "+name] = what
		return nil
	})
}
