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
	// settingsEvery is for how many seconds a setting is not read again: counters change, settings seldom do.
	settingsEvery = 4.5
)

// Reader takes readings of the control groups that it is asked for, and of their ancestors.
type Reader struct {
	file    func(name string) ([]byte, error)
	mounts  []byte                 // /proc/self/mountinfo
	known   map[string]*knownGroup // by folder
	absent  map[string]int         // readings for which a file that does not exist is not looked for
	members map[string]*Membership // by the text of /proc/PID/cgroup
	active  []*Membership          // asked for in this reading
}

// NewReader prepares readings of a host whose files a function reads by names such as
// "proc/self/mountinfo". The text that it returns need not stay valid.
func NewReader(file func(name string) ([]byte, error)) *Reader {
	mounts, _ := file("proc/self/mountinfo") // without it there are no groups
	return &Reader{file: file, mounts: slices.Clone(mounts), known: map[string]*knownGroup{}, members: map[string]*Membership{}, absent: map[string]int{}}
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
	of       platform.ControlGroup
	left     int               // readings that it is read without being asked for
	settings map[string][]byte // files of settings
	read     float64           // instant of reading them
}

// Read reads, at an instant in seconds, the control groups of the processes that were asked for
// since the last reading, their ancestors, and those of a few readings ago; where their memory
// lies, only on a host of several NUMA nodes. Settings may be a few seconds old.
func (r *Reader) Read(at float64, nodes int) (all []Group, err error) {
	if len(r.mounts) == 0 {
		return nil, errors.New("no mounts of control groups")
	}
	for _, m := range r.active {
		for _, member := range m.all {
			for folder := member.Folder; len(folder) >= len(member.Mount); folder = path.Dir(folder) {
				if r.known[folder] == nil {
					r.known[folder] = &knownGroup{}
				}
				r.known[folder].of, r.known[folder].left = member, lingering
				if folder == member.Mount {
					break
				}
			}
		}
	}
	r.active = r.active[:0]
	for _, folder := range slices.Sorted(maps.Keys(r.known)) {
		known := r.known[folder]
		if known.settings == nil || at >= known.read+settingsEvery || at < known.read {
			known.settings, known.read = map[string][]byte{}, at
		}
		if g, found := r.read(known, folder, nodes); found {
			all = collect(all, g)
		}
		if known.left == 0 {
			delete(r.known, folder)
			continue
		}
		known.left--
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

// files reads the files of a control group that it has.
type files struct {
	// current reads a file now; setting uses its text of the last few seconds if there is one.
	current, setting func(file string, use func(text []byte))
}

// read reads a folder of a control group. Its files say which controllers it has.
func (r *Reader) read(known *knownGroup, folder string, nodes int) (g Group, found bool) {
	g = Group{Path: nameOf(known.of, folder), Version: known.of.Version, Folders: map[string]string{}}
	use := func(file string, text []byte, parse func(text []byte)) {
		found = true
		controller, _, _ := strings.Cut(file, ".")
		g.Folders[controller] = folder
		parse(text)
	}
	in := strings.TrimPrefix(folder, "/") + "/"
	var f files
	f.current = func(file string, parse func(text []byte)) {
		if text, ok := r.text(in + file); ok {
			use(file, text, parse)
		}
	}
	f.setting = func(file string, parse func(text []byte)) {
		text, ok := known.settings[file]
		if !ok {
			if text, ok = r.text(in + file); !ok {
				return
			}
			text = bytes.Clone(text)
			known.settings[file] = text
		}
		use(file, text, parse)
	}
	if nodes > 1 {
		f.current("memory.numa_stat", func(text []byte) { parseNodeMemory(text, &g) })
	}
	f.current("cpu.stat", func(text []byte) { parseCPUStat(text, &g) })
	if known.of.Version == 2 {
		f.read2(folder, &g)
	} else {
		f.read1(folder, &g)
	}
	return g, found
}

// text reads a file, without the white space around its text. It looks for one that does not
// exist only now and then.
func (r *Reader) text(name string) ([]byte, bool) {
	if r.absent[name] > 0 {
		r.absent[name]--
		return nil, false
	}
	text, err := r.file(name)
	if errors.Is(err, fs.ErrNotExist) {
		r.absent[name] = retryAbsent
	}
	return bytes.TrimSpace(text), err == nil
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
