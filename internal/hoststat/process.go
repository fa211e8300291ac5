package hoststat

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"slices"
	"strconv"

	"plimsoll/internal/hoststat/parse"
)

const (
	mostDetailed = 24    // processes read in detail
	mostOwn      = 18    // of them those of the lab, so that a busy program of others keeps its details
	mostTasks    = 64    // threads read of each of them
	mostAllTasks = 192   // threads read in all
	mostTitles   = 256   // processes of which the title is read
	active       = 0.005 // CPU seconds since the last reading that make a process worth details
	lingering    = 10    // readings that a process stays worth them: one that waits for storage uses little CPU time
	blockedUse   = 0.05  // CPU seconds that count as much as having waited for a disk
	slowly       = 4.5   // seconds for which what seldom changes of a process is not read again
)

// processAge is what a process had used at the last reading.
type processAge struct {
	started, busy, faults, blocked, reaped float64

	linger int // readings that it stays worth details without activity
}

// identity is what does not change during the life of a process, unless it executes another program, and its slow part.
type identity struct {
	started float64
	name    string // at which the command line was read
	command string
	slow    slow
}

// slow is what seldom changes of a process.
type slow struct {
	at         float64
	read       bool
	allowed    string
	anon, swap float64
	text       []byte   // of its control groups
	threads    int      // when they were listed
	tasks      []string // their folders
}

// readProcesses reads /proc/PID/stat of all processes, and more of the active ones.
func readProcesses(r *Reader, s *State) error {
	names, err := r.root.Names("proc")
	if err != nil {
		return err
	}
	now := make(map[int]processAge, len(names))
	s.Processes = make([]Process, 0, len(names))
	for _, name := range names {
		if name[0] < '1' || name[0] > '9' {
			continue
		}
		text, err := r.file("proc/" + name + "/stat")
		if err != nil {
			continue // it has ended
		}
		p, ok := parseProcess(text)
		if !ok {
			continue
		}
		now[p.PID] = processAge{started: p.Started, busy: p.Busy(), faults: p.Major, blocked: p.BlockIO, reaped: p.Reaped}
		s.Processes = append(s.Processes, p)
	}
	if len(s.Processes) == 0 {
		return errors.New("/proc shows no processes")
	}
	r.tasksNow = make(map[string]*knownTask, len(r.tasks))
	r.origins(s)
	r.detail(s, now)
	r.tasks = r.tasksNow
	r.follow(s)
	r.placements(s)
	r.previous = now
	for pid := range r.known {
		if _, alive := now[pid]; !alive {
			delete(r.known, pid)
		}
	}
	return nil
}

// detail reads more of the processes that are active, blocked or in the focus, and of those
// that were so a few readings ago: rates need details at both ends.
func (r *Reader) detail(s *State, now map[int]processAge) {
	newest := 0. // process, which has just started: the reader is one
	for i := range s.Processes {
		newest = max(newest, s.Processes[i].Started)
	}
	used := func(p *Process) float64 {
		before, known := r.previous[p.PID]
		switch {
		case len(r.previous) == 0 && p.Origin == "":
			// The first reading: those with the most CPU time so far or in a second of their life, and all of the lab.
			return max(p.Busy()*1e-3, p.Busy()/(1+(newest-p.Started)/ticks))
		case !known || before.started != p.Started: // in the first reading, of the lab
			before = processAge{}
		}
		use := p.Busy() - before.busy + p.Reaped - before.reaped
		if p.State == "D" || p.BlockIO > before.blocked || p.Major > before.faults {
			use += blockedUse
		}
		return use
	}
	weight := make(map[int]float64, len(s.Processes))
	for i := range s.Processes {
		p := &s.Processes[i]
		age, use := now[p.PID], used(p)
		if before, known := r.previous[p.PID]; use >= active || p.State == "D" {
			age.linger = lingering
		} else if known && before.started == p.Started && before.linger > 0 {
			age.linger, use = before.linger-1, max(use, active)
		}
		now[p.PID], weight[p.PID] = age, use
	}
	r.order(s.Processes, weight)
	detailed, ours := 0, 0
	for i := range s.Processes {
		p := &s.Processes[i]
		focus := slices.Contains(r.Focus, p.PID)
		if p.Name == "postgres" && i < mostTitles {
			p.Command = r.command(p, "proc/"+strconv.Itoa(p.PID)+"/")
		}
		if !focus && (detailed >= mostDetailed || p.Origin != "" && ours >= mostOwn || now[p.PID].linger == 0) {
			continue
		}
		detailed++
		if p.Origin != "" {
			ours++
		}
		r.readDetails(p, max(1, min(mostTasks, mostAllTasks-len(r.tasksNow))))
	}
}

// order puts the focus and the lab first, whatever else the host does, and others by weight. The order
// of those without a weight does not matter.
func (r *Reader) order(processes []Process, weight map[int]float64) {
	rank := func(p *Process) int {
		switch {
		case slices.Contains(r.Focus, p.PID):
			return 0
		case p.Origin != "":
			return 1
		}
		return 2
	}
	front := 0
	for i := range processes {
		if p := &processes[i]; rank(p) < 2 || weight[p.PID] > 0 {
			processes[front], processes[i] = processes[i], processes[front]
			front++
		}
	}
	slices.SortFunc(processes[:front], func(a, b Process) int {
		return cmp.Or(cmp.Compare(rank(&a), rank(&b)), cmp.Compare(weight[b.PID], weight[a.PID]))
	})
}

// parseProcess parses /proc/PID/stat or /proc/PID/task/TID/stat (proc(5)).
func parseProcess(text []byte) (Process, bool) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 1 || end < open {
		return Process{}, false
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(text[:open])))
	var fields [52][]byte
	f := parse.Fields(fields[:0], text[end+1:])
	if err != nil || len(f) < 41 {
		return Process{}, false
	}
	at := func(field int) float64 { n, _ := parse.Number(f[field-3]); return n } // numbered as in proc(5)
	nice, _ := strconv.Atoi(string(f[19-3]))
	return Process{
		PID: pid, Name: string(text[open+1 : end]), State: string(f[0]), Parent: int(at(4)),
		Minor: at(10), Faulted: at(11), Major: at(12), User: at(14) / ticks, System: at(15) / ticks, Reaped: (at(16) + at(17)) / ticks,
		Session: int(at(6)), Nice: nice, Policy: int(at(41)), Threads: int(at(20)), Started: at(22), RSS: at(24) * float64(os.Getpagesize()),
		CPU: int(at(39)), BlockIO: at(42) / ticks, Guest: at(43) / ticks,
	}, true
}

func (r *Reader) readDetails(p *Process, most int) {
	folder := "proc/" + strconv.Itoa(p.PID) + "/"
	p.Command = r.command(p, folder)
	k := r.known[p.PID]
	if k == nil || k.started != p.Started { // no command line
		k = &identity{started: p.Started}
		r.known[p.PID] = k
	}
	if !k.slow.read || r.now >= k.slow.at+slowly || r.now < k.slow.at {
		if !r.readSlow(&k.slow, folder) {
			return
		}
	}
	p.Detailed = true
	p.Allowed, p.Anon, p.Swap = k.slow.allowed, k.slow.anon, k.slow.swap
	if k.slow.text != nil {
		groups := r.controlGroups().Membership(k.slow.text)
		p.Group, p.SetGroup, p.MemoryGroup, p.IOGroup = groups.CPU, groups.Set, groups.Memory, groups.IO
	}
	if text, err := r.file(folder + "io"); err == nil {
		parse.Pairs(text, func(name []byte, value float64) {
			switch string(name) {
			case "rchar":
				p.ReadChars = value
			case "wchar":
				p.WriteChars = value
			case "syscr":
				p.ReadCalls = value
			case "syscw":
				p.WriteCalls = value
			case "read_bytes":
				p.ReadBytes = value
			case "write_bytes":
				p.WriteBytes = value
			}
		})
	}
	r.readTasks(p, &k.slow, folder, most)
}

// readSlow reads what seldom changes of a process; false if it has ended.
func (r *Reader) readSlow(into *slow, folder string) bool {
	status, err := r.file(folder + "status")
	if err != nil {
		return false
	}
	*into = slow{at: r.now, read: true}
	for line := range bytes.Lines(status) {
		if rest, found := bytes.CutPrefix(line, []byte("Cpus_allowed_list:")); found {
			into.allowed = string(bytes.TrimSpace(rest))
			break
		}
		if rest, found := bytes.CutPrefix(line, []byte("RssAnon:")); found {
			into.anon = kilobytes(rest)
		} else if rest, found := bytes.CutPrefix(line, []byte("VmSwap:")); found {
			into.swap = kilobytes(rest)
		}
	}
	if text, err := r.file(folder + "cgroup"); err == nil {
		into.text = bytes.Clone(text)
	}
	return true
}

// command is the command line, read once.
func (r *Reader) command(p *Process, folder string) string {
	titled := p.Name == "postgres" // shows in its command line what it does
	if known, ok := r.known[p.PID]; ok && known.started == p.Started && known.name == p.Name && known.command != "" && !titled {
		return known.command
	}
	const most = 1024
	text, err := r.file(folder + "cmdline")
	if err != nil {
		return ""
	}
	command := string(bytes.TrimSpace(bytes.ReplaceAll(text[:min(most, len(text))], []byte{0}, []byte{' '})))
	if known := r.known[p.PID]; known != nil && known.started == p.Started {
		known.name, known.command = p.Name, command
	} else {
		r.known[p.PID] = &identity{started: p.Started, name: p.Name, command: command}
	}
	return command
}

// cacheOf is the first CPU of a CPU's last-level cache. Topology is read once.
func (r *Reader) cacheOf(cpu int) int {
	if cpu < 0 || cpu >= mostCPUs {
		return 0
	}
	for n := len(r.caches); n <= cpu; n++ {
		r.caches = append(r.caches, r.processor(n).Cache[0])
	}
	return r.caches[cpu]
}

// contended is the address of the mutex that a thread waits for, by its system call and the
// arguments: "202 0x7f12 0x80 0x2 ...". The operation is FUTEX_WAIT or FUTEX_WAIT_BITSET, and the
// value 2 says that a mutex is locked and others wait (U. Drepper, "Futexes are tricky", 2011).
// Condition variables and semaphores have other values.
func contended(syscall []byte) string {
	f := bytes.Fields(syscall)
	if len(f) < 4 || string(f[3]) != "0x2" {
		return ""
	}
	op, err := strconv.ParseUint(string(f[2]), 0, 32)
	const private, realtime, wait, waitBitset = 128, 256, 0, 9
	if op &^= private | realtime; err != nil || op != wait && op != waitBitset {
		return ""
	}
	return string(f[1])
}

// elsewhere are kernel functions in which threads in state D wait for no I/O: for a child after
// vfork, and for time to pass.
var elsewhere = []string{"kernel_clone", "do_coredump", "msleep", "usleep_range_state", "schedule_timeout_uninterruptible"}

// waiting counts a thread that sleeps. "0" is what the kernel shows of a thread that runs, or
// that the reader may not look into.
func (p *Process) waiting(t *Thread) {
	if t.State == "D" && !slices.Contains(elsewhere, t.Wait) {
		p.Blocked++
	}
	if t.Wait != "" && t.Wait != "0" {
		if p.Waits == nil {
			p.Waits = Waits{}
		}
		p.Waits[t.Wait]++
	}
}

// kilobytes parses the rest of a line such as "VmSwap:   12 kB", in bytes.
func kilobytes(rest []byte) float64 {
	n, _ := parse.Number(bytes.TrimSpace(rest))
	return n * 1024
}

// precise splits an exact CPU time in the proportion of times in clock ticks.
func precise(total, user, system float64) (u, s float64) {
	if user+system == 0 {
		return total, 0
	}
	return total * user / (user + system), total * system / (user + system)
}
