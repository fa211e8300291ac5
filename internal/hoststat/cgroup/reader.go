package cgroup

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

	"plimsoll/internal/hoststat/parse"
	"plimsoll/internal/platform"
)

const (
	// retryAbsent is for how many readings a file that a group lacks is not looked for.
	retryAbsent = 60
	// lingering is for how many readings a group is read after it was asked for: rates need both ends.
	lingering = 10
	// mostMemberships bounds the memberships that are kept.
	mostMemberships = 4096
	mostNodes       = 1024
)

// Reader takes readings of the control groups that it is asked for, and of their ancestors.
type Reader struct {
	file    func(name string) ([]byte, error)
	mounts  []byte                 // /proc/self/mountinfo
	known   map[string]knownGroup  // by folder
	absent  map[string]int         // readings for which a file that does not exist is not looked for
	members map[string]*Membership // by the text of /proc/PID/cgroup
	active  []*Membership          // asked for in this reading
}

// NewReader prepares readings of a host whose files a function reads by names such as
// "proc/self/mountinfo". The text that it returns need not stay valid.
func NewReader(file func(name string) ([]byte, error)) *Reader {
	mounts, _ := file("proc/self/mountinfo") // without it there are no groups
	return &Reader{file: file, mounts: slices.Clone(mounts), known: map[string]knownGroup{}, members: map[string]*Membership{}, absent: map[string]int{}}
}

// Membership is the control groups of a process by what they govern. They are empty if unknown.
type Membership struct {
	CPU, Set, Memory, IO string
	all                  []platform.ControlGroup
}

// Membership finds the groups of a process by the text of its /proc/PID/cgroup. The next reading
// has them.
func (r *Reader) Membership(text []byte) *Membership {
	m := r.members[string(text)]
	if m == nil {
		if len(r.members) >= mostMemberships {
			clear(r.members)
		}
		m = newMembership(r.mounts, text)
		r.members[string(text)] = m
	}
	if !slices.Contains(r.active, m) {
		r.active = append(r.active, m)
	}
	return m
}

// newMembership finds the groups in the hierarchies of the controllers of CPU time, CPU sets,
// memory and block I/O.
func newMembership(mounts, text []byte) *Membership {
	m := &Membership{}
	for _, controller := range []string{"cpu", "cpuacct", "cpuset", "memory", "blkio"} {
		g, err := platform.FindControlGroup(mounts, text, controller)
		if err != nil {
			continue
		}
		switch controller {
		case "cpu":
			m.CPU = nameOf(g, g.Folder)
		case "cpuset":
			m.Set = nameOf(g, g.Folder)
		case "memory":
			m.Memory = nameOf(g, g.Folder)
		case "blkio":
			m.IO = nameOf(g, g.Folder)
		}
		if !slices.Contains(m.all, g) {
			m.all = append(m.all, g)
		}
	}
	return m
}

// nameOf is the path of a group below the mount of its hierarchy.
func nameOf(of platform.ControlGroup, folder string) string {
	return cmp.Or(strings.TrimPrefix(folder, of.Mount), "/")
}

// knownGroup is a control group that was read before.
type knownGroup struct {
	of   platform.ControlGroup
	left int // readings that it is read without being asked for
}

// Read reads the control groups of the processes that were asked for since the last reading,
// their ancestors, and those of a few readings ago; where their memory lies, only on a host of
// several NUMA nodes.
func (r *Reader) Read(nodes int) (all []Group, err error) {
	if len(r.mounts) == 0 {
		return nil, errors.New("no mounts of control groups")
	}
	for _, m := range r.active {
		for _, member := range m.all {
			for at := member.Folder; len(at) >= len(member.Mount); at = path.Dir(at) {
				r.known[at] = knownGroup{member, lingering}
				if at == member.Mount {
					break
				}
			}
		}
	}
	r.active = r.active[:0]
	for _, folder := range slices.Sorted(maps.Keys(r.known)) {
		known := r.known[folder]
		if g, found := r.read(known.of, folder, nodes); found {
			all = collect(all, g)
		}
		if known.left == 0 {
			delete(r.known, folder)
			continue
		}
		known.left--
		r.known[folder] = known
	}
	return all, nil
}

// collect appends a group, or merges it into the one of the same path.
func collect(all []Group, g Group) []Group {
	if i := slices.IndexFunc(all, func(x Group) bool { return x.Path == g.Path }); i >= 0 {
		all[i].merge(&g)
		return all
	}
	return append(all, g)
}

// read reads a folder of a control group. Its files say which controllers it has.
func (r *Reader) read(of platform.ControlGroup, folder string, nodes int) (g Group, found bool) {
	g = Group{Path: nameOf(of, folder), Version: of.Version, Folders: map[string]string{}}
	at := strings.TrimPrefix(folder, "/") + "/"
	read := func(file string, use func(text []byte)) {
		name := at + file
		if r.absent[name] > 0 {
			r.absent[name]--
			return
		}
		if text, err := r.file(name); errors.Is(err, fs.ErrNotExist) {
			r.absent[name] = retryAbsent
		} else if err == nil {
			found = true
			controller, _, _ := strings.Cut(file, ".")
			g.Folders[controller] = folder
			use(bytes.TrimSpace(text))
		}
	}
	if nodes > 1 {
		read("memory.numa_stat", func(text []byte) { parseNodeMemory(text, &g) })
	}
	read("cpu.stat", func(text []byte) { parseCPUStat(text, &g) })
	if of.Version == 2 {
		read2(read, folder, &g)
	} else {
		read1(read, folder, &g)
	}
	return g, found
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
			n, ok := parse.Number(node)
			size, ok2 := parse.Number(value)
			if ok && ok2 && n < mostNodes {
				g.NodeMemory = append(g.NodeMemory, make([]float64, max(0, int(n)+1-len(g.NodeMemory)))...)
				g.NodeMemory[int(n)] = size * unit
			}
		}
	}
}

// parseCPUStat parses cpu.stat: in nanoseconds in version 1 and in microseconds in version 2.
func parseCPUStat(text []byte, g *Group) {
	parse.Pairs(text, func(name []byte, value float64) {
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
