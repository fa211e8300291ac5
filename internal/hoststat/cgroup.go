package hoststat

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"plimsoll/internal/platform"
)

// hierarchies finds the folders of control groups. Both versions may be in use side by side.
type hierarchies struct {
	mounts  []byte                 // /proc/self/mountinfo
	known   map[string]knownGroup  // by folder
	absent  map[string]int         // readings for which a file that does not exist is not looked for
	members map[string]*membership // by the text of /proc/PID/cgroup
	active  []*membership          // of the processes with details in this reading
}

// retryAbsent is for how many readings a file that a group lacks is not looked for.
const retryAbsent = 60

// membership is the groups of a process.
type membership struct {
	cpu, set, memory, io string // names of the groups by what they govern
	all                  []platform.ControlGroup
}

// membership is the groups of a process; empty if unknown.
func (r *Reader) membership(folder string) *membership {
	r.findMounts()
	text, err := r.file(folder + "cgroup")
	if err != nil {
		return &membership{}
	}
	m := r.groups.members[string(text)]
	if m == nil {
		m = newMembership(r.groups.mounts, text)
		r.groups.members[string(text)] = m
	}
	if !slices.Contains(r.groups.active, m) {
		r.groups.active = append(r.groups.active, m)
	}
	return m
}

// newMembership finds the groups in the hierarchies of the controllers of CPU time, CPU sets,
// memory and block I/O.
func newMembership(mounts, text []byte) *membership {
	m := &membership{}
	for _, controller := range []string{"cpu", "cpuacct", "cpuset", "memory", "blkio"} {
		g, err := platform.FindControlGroup(mounts, text, controller)
		if err != nil {
			continue
		}
		switch controller {
		case "cpu":
			m.cpu = groupName(g, g.Folder)
		case "cpuset":
			m.set = groupName(g, g.Folder)
		case "memory":
			m.memory = groupName(g, g.Folder)
		case "blkio":
			m.io = groupName(g, g.Folder)
		}
		if !slices.Contains(m.all, g) {
			m.all = append(m.all, g)
		}
	}
	return m
}

// knownGroup is a control group that was read before.
type knownGroup struct {
	of   platform.ControlGroup
	left int // readings that it is read without a process with details
}

// readGroups reads the control groups of the processes with details, and their ancestors, and
// those that it has read a few readings ago.
func readGroups(r *Reader, s *State) error {
	r.findMounts()
	if len(r.groups.mounts) == 0 {
		return errors.New("no mounts of control groups")
	}
	for _, text := range r.Members {
		r.groups.active = append(r.groups.active, newMembership(r.groups.mounts, []byte(text)))
	}
	for _, m := range r.groups.active {
		for _, member := range m.all {
			for at := member.Folder; len(at) >= len(member.Mount); at = path.Dir(at) {
				r.groups.known[at] = knownGroup{member, lingering}
				if at == member.Mount {
					break
				}
			}
		}
	}
	r.groups.active = r.groups.active[:0]
	for _, folder := range slices.Sorted(maps.Keys(r.groups.known)) {
		known := r.groups.known[folder]
		if r.readGroup(s, known.of, folder); known.left == 0 {
			delete(r.groups.known, folder)
			continue
		}
		known.left--
		r.groups.known[folder] = known
	}
	return nil
}

// findMounts reads the mounts of control groups once.
func (r *Reader) findMounts() {
	if r.groups == nil {
		mounts, _ := r.file("proc/self/mountinfo")
		r.groups = &hierarchies{mounts: slices.Clone(mounts), known: map[string]knownGroup{}, members: map[string]*membership{}, absent: map[string]int{}}
	}
}

// groupName is the path of a group below the mount of its hierarchy.
func groupName(of platform.ControlGroup, folder string) string {
	return cmp.Or(strings.TrimPrefix(folder, of.Mount), "/")
}

// readGroup reads a folder of a control group. Its files say which controllers it has.
func (r *Reader) readGroup(s *State, of platform.ControlGroup, folder string) {
	g := Group{Path: groupName(of, folder), Version: of.Version, Folders: map[string]string{}}
	at := strings.TrimPrefix(folder, "/") + "/"
	found := false
	read := func(file string, use func(text []byte)) {
		name := at + file
		if r.groups.absent[name] > 0 {
			r.groups.absent[name]--
			return
		}
		if text, err := r.file(name); errors.Is(err, fs.ErrNotExist) {
			r.groups.absent[name] = retryAbsent
		} else if err == nil {
			found = true
			controller, _, _ := strings.Cut(file, ".")
			g.Folders[controller] = folder
			use(bytes.TrimSpace(text))
		}
	}
	if len(s.Nodes) > 1 {
		read("memory.numa_stat", func(text []byte) { parseNodeMemory(text, &g) })
	}
	read("cpu.stat", func(text []byte) { parseCPUStat(text, &g) })
	if of.Version == 2 {
		readGroup2(read, folder, &g)
	} else {
		readGroup1(read, folder, &g)
	}
	if !found {
		return
	}
	if known := index(s.Groups, func(x *Group) bool { return x.Path == g.Path }); known != nil {
		known.merge(&g)
		return
	}
	s.Groups = append(s.Groups, g)
}

// parseNodeMemory parses memory.numa_stat: "anon N0=4096 N1=0" in bytes in version 2, and
// "anon=1 N0=1 N1=0" in pages in version 1.
func parseNodeMemory(text []byte, g *Group) {
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		if len(fields) < 2 {
			continue
		}
		unit := 1.
		name, _, paged := bytes.Cut(fields[0], []byte("="))
		if paged {
			unit = float64(os.Getpagesize())
		}
		if string(name) != "anon" {
			continue
		}
		for _, field := range fields[1:] {
			node, value, _ := bytes.Cut(bytes.TrimPrefix(field, []byte("N")), []byte("="))
			n, ok := number(node)
			size, ok2 := number(value)
			if ok && ok2 && n < mostNodes {
				g.NodeMemory = grown(g.NodeMemory, int(n)+1)
				g.NodeMemory[int(n)] = size * unit
			}
		}
	}
}

// parseCPUStat parses cpu.stat: in nanoseconds in version 1 and in microseconds in version 2.
func parseCPUStat(text []byte, g *Group) {
	pairs(text, func(name []byte, value float64) {
		switch string(name) {
		case "usage_usec":
			g.Usage = value * 1e-6
		case "nr_periods":
			g.Periods = value
		case "nr_throttled":
			g.ThrottledPeriods = value
		case "throttled_usec":
			g.Throttled = value * 1e-6
		case "throttled_time":
			g.Throttled = value * 1e-9
		}
	})
}

// merge adds what another controller's folder of the same path has.
func (g *Group) merge(other *Group) {
	for _, one := range []struct{ to, from *float64 }{
		{&g.Usage, &other.Usage}, {&g.Quota, &other.Quota}, {&g.Periods, &other.Periods}, {&g.ThrottledPeriods, &other.ThrottledPeriods},
		{&g.Throttled, &other.Throttled}, {&g.Memory, &other.Memory}, {&g.MemoryLimit, &other.MemoryLimit},
		{&g.LimitHits, &other.LimitHits}, {&g.Refaults, &other.Refaults}, {&g.Swap, &other.Swap}, {&g.Kills, &other.Kills},
	} {
		*one.to = max(*one.to, *one.from)
	}
	if other.CPUSet != "" {
		g.CPUSet = other.CPUSet
	}
	if other.NodeMemory != nil {
		g.NodeMemory = other.NodeMemory
	}
	g.MemoryFile = cmp.Or(other.MemoryFile, g.MemoryFile)
	g.IO, g.IOLimits = append(g.IO, other.IO...), append(g.IOLimits, other.IOLimits...)
	maps.Copy(g.Folders, other.Folders)
}
