package collect

import (
	"errors"
	"path"
	"regexp"
	"strconv"
	"strings"

	"plimsoll/internal/platform"
)

const (
	dmi      = "/sys/class/dmi/id/"
	cpus     = "/sys/devices/system/cpu/"
	bytesKiB = 1 << 10
)

func (s *survey) system() {
	s.facts = append(s.facts, Fact{"machine.name", s.machine.Name()})
	model, err := s.files(dmi+"sys_vendor", dmi+"product_name")
	if err != nil {
		if tree, e := s.file("/proc/device-tree/model"); e == nil {
			model, err = tree, nil
		}
	}
	s.add("machine.model", model, err)
	firmware, err := s.files(dmi+"bios_vendor", dmi+"bios_version", dmi+"bios_date")
	s.add("machine.firmware", firmware, err)
	s.add("machine.virtualisation", s.virtualisation(model), nil)
	release, err := s.file("/etc/os-release")
	s.add("system.distribution", distribution(release), err)
}

// virtualisation names the hypervisor, if the machine reports it.
func (s *survey) virtualisation(model string) string {
	if kind, err := s.file("/sys/hypervisor/type"); err == nil {
		return "guest of " + kind
	}
	for mark, name := range pairs(
		"VMware", "VMware", "KVM", "KVM", "QEMU", "QEMU", "VirtualBox", "VirtualBox", "Virtual Machine", "Hyper-V", "Xen", "Xen",
		"Amazon EC2", "EC2", "Google Compute Engine", "Google Compute Engine", "OpenStack", "OpenStack", "AHV", "AHV") {
		if strings.Contains(model, mark) {
			return "guest of " + name
		}
	}
	info, err := s.file("/proc/cpuinfo")
	switch flags := " " + value(info, "flags") + " "; {
	case err != nil:
		return NotReadable + err.Error()
	case strings.Contains(flags, " hypervisor "):
		return "guest of a hypervisor that does not name itself"
	case flags == "  ":
		return NotReadable + "this architecture has no flag for it"
	}
	return "none"
}

func distribution(release string) string {
	for line := range strings.Lines(release) {
		if name, found := strings.CutPrefix(line, "PRETTY_NAME="); found {
			return strings.Trim(strings.TrimSpace(name), `"`)
		}
	}
	return "unnamed"
}

// value returns the text after a key and a colon on the first such line.
func value(text, key string) string {
	for line := range strings.Lines(text) {
		k, v, found := strings.Cut(line, ":")
		if found && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

func (s *survey) processors() {
	info, err := s.file("/proc/cpuinfo")
	c := countCPUs(info)
	given := func(name, text string) {
		e := err
		if e == nil && text == "" {
			e = errors.New("not in /proc/cpuinfo")
		}
		s.add(name, text, e)
	}
	given("cpu.model", c.model)
	given("cpu.sockets", c.sockets)
	given("cpu.cores", c.cores)
	given("cpu.threads", c.threads)
	given("cpu.microcode", c.microcode)
	for _, f := range []struct{ name, file string }{
		{"cpu.simultaneous_multithreading", cpus + "smt/control"},
		{"cpu.frequency.driver", cpus + "cpu0/cpufreq/scaling_driver"},
		{"cpu.frequency.governor", cpus + "cpu0/cpufreq/scaling_governor"},
		{"cpu.idle.driver", cpus + "cpuidle/current_driver"},
		{"cpu.idle.governor", cpus + "cpuidle/current_governor"},
	} {
		text, err := s.file(f.file)
		s.add(f.name, text, err)
	}
	for _, name := range s.list(cpus + "vulnerabilities") {
		text, err := s.file(cpus + "vulnerabilities/" + name)
		s.add("cpu.vulnerability."+name, text, err)
	}
}

type cpuCount struct{ model, sockets, cores, threads, microcode string }

// countCPUs parses /proc/cpuinfo; missing fields are empty.
func countCPUs(info string) cpuCount {
	sockets, cores, threads := map[string]bool{}, map[string]bool{}, 0
	socket := ""
	for line := range strings.Lines(info) {
		k, v, _ := strings.Cut(line, ":")
		v = strings.TrimSpace(v)
		switch strings.TrimSpace(k) {
		case "processor":
			if _, err := strconv.Atoi(v); err == nil {
				threads++
			}
		case "physical id":
			socket = v
			sockets[v] = true
		case "core id":
			cores[socket+"/"+v] = true
		}
	}
	count := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	return cpuCount{value(info, "model name"), count(len(sockets)), count(len(cores)), count(threads), value(info, "microcode")}
}

func (s *survey) memory() {
	info, err := s.file("/proc/meminfo")
	for name, key := range pairs("memory.size", "MemTotal", "memory.swap", "SwapTotal") {
		text := ""
		if n, e := strconv.ParseInt(strings.TrimSuffix(value(info, key), " kB"), 10, 64); e == nil {
			text = strconv.FormatInt(n*bytesKiB, 10) + " B"
		}
		s.add(name, text, err)
	}
	for name, file := range pairs(
		"memory.nodes", "/sys/devices/system/node/online",
		"memory.transparent_hugepages", "/sys/kernel/mm/transparent_hugepage/enabled",
		"memory.transparent_hugepages.defrag", "/sys/kernel/mm/transparent_hugepage/defrag",
		"memory.same_page_merging", "/sys/kernel/mm/ksm/run") {
		text, err := s.file(file)
		s.add(name, chosenWord(text), err)
	}
}

// pairs yields its arguments in pairs.
func pairs(texts ...string) func(yield func(string, string) bool) {
	return func(yield func(string, string) bool) {
		for i := 0; i+1 < len(texts); i += 2 {
			if !yield(texts[i], texts[i+1]) {
				return
			}
		}
	}
}

// chosenWord is the word in brackets, or the whole text without any.
func chosenWord(text string) string {
	if _, rest, found := strings.Cut(text, "["); found {
		if word, _, found := strings.Cut(rest, "]"); found {
			return word
		}
	}
	return text
}

func (s *survey) kernel() {
	for name, file := range pairs("kernel.release", "/proc/sys/kernel/osrelease", "kernel.version", "/proc/sys/kernel/version",
		"kernel.clock_source", "/sys/devices/system/clocksource/clocksource0/current_clocksource") {
		text, err := s.file(file)
		s.add(name, text, err)
	}
	line, err := s.file("/proc/cmdline")
	s.add("kernel.command_line", withhold(line), err)
}

var secret = regexp.MustCompile(`(?i)(pass|pw|secret|token|key|cred|auth|salt|private)[^=]*$`)

// withhold redacts what looks like a secret, and removes the part after a lone "--", which are
// arguments of init.
func withhold(line string) string {
	words := strings.Fields(line)
	for i, w := range words {
		if w == "--" {
			words = words[:i]
			break
		}
		key, _, found := strings.Cut(w, "=")
		if found && secret.MatchString(key) {
			words[i] = key + "=[withheld]"
		} else if before, after, found := strings.Cut(w, "://"); found && strings.Contains(after, "@") {
			words[i] = before + "://[withheld]@" + after[strings.LastIndex(after, "@")+1:]
		}
	}
	return strings.Join(words, " ")
}

func (s *survey) storage(dir string) {
	mount, err := platform.MountUnder(s.ctx, s.machine, dir)
	s.add("filesystem.type", mount.Type, err)
	s.add("filesystem.source", withhold(mount.Source), err)
	s.add("filesystem.options", strings.ReplaceAll(withhold(strings.ReplaceAll(mount.Options, ",", " ")), " ", ","), err)
	d, err := platform.DeviceUnder(s.ctx, s.machine, dir)
	s.add("storage.device", d.Name, err)
	if err != nil {
		return
	}
	at := func(names ...string) (string, error) {
		for i, n := range names {
			names[i] = path.Join(d.Folder, n)
		}
		return s.files(names...)
	}
	model, err := at("device/vendor", "device/model")
	s.add("storage.model", model, err)
	firmware, err := at("device/firmware_rev", "device/rev")
	s.add("storage.firmware", firmware, err)
	size, err := at("size")
	if n, e := strconv.ParseInt(size, 10, 64); e == nil {
		size = strconv.FormatInt(n*sector, 10) + " B"
	}
	s.add("storage.size", size, err)
	for name, file := range pairs(
		"storage.rotational", "queue/rotational", "storage.scheduler", "queue/scheduler", "storage.read_ahead", "queue/read_ahead_kb",
		"storage.requests", "queue/nr_requests", "storage.write_cache", "queue/write_cache", "storage.sector", "queue/physical_block_size") {
		text, err := at(file)
		text = chosenWord(text)
		if name == "storage.read_ahead" && err == nil {
			text += " KiB"
		}
		s.add(name, text, err)
	}
	if below := s.list(d.Folder + "/slaves"); len(below) > 0 {
		s.add("storage.below", strings.Join(below, ", "), nil)
	}
}
