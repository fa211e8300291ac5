package machines

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/hoststat"
	"plimsoll/internal/platform"
)

// Census is the CPU time that each process of a host has used up to an instant.
type Census struct {
	At        time.Time
	processes map[int]process
	all       hoststat.CPU // seconds of all CPUs together
	CPUs      int
}

type process struct {
	name    string  // kernel threads change theirs
	started string  // clock ticks after boot: a process identifier is used again
	seconds float64 // of CPU time
}

const (
	ticks       = 100.            // USER_HZ, fixed for user space by proc(5)
	censusTakes = 2 * time.Second // at most
)

// TakeCensus looks at the processes of a machine; nil where they cannot be seen.
func TakeCensus(ctx context.Context, m platform.Machine) *Census {
	if m == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, censusTakes)
	defer cancel()
	at := time.Now()
	r, err := m.Run(ctx, platform.Command{Argv: []string{"sh", "-c", "cat /proc/stat /proc/[0-9]*/stat 2>/dev/null"}})
	if err != nil || len(r.Stdout) == 0 {
		return nil
	}
	return readCensus(string(r.Stdout), at)
}

// readCensus reads /proc/stat and the stat of each process, one after the other
// (proc(5)). What it does not understand it leaves out.
func readCensus(text string, at time.Time) *Census {
	c := &Census{At: at, processes: map[int]process{}}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch {
		case len(f) > 8 && f[0] == "cpu":
			for i, seconds := range c.all.Counters() {
				n, _ := strconv.ParseFloat(f[min(1+i, len(f)-1)], 64)
				*seconds = n / ticks
			}
		case len(f) > 0 && strings.HasPrefix(f[0], "cpu"):
			c.CPUs++
		}
		open, end := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
		if open < 0 || end < open {
			continue
		}
		pid, err := strconv.Atoi(strings.TrimSpace(line[:open]))
		rest := strings.Fields(line[end+1:])
		if err != nil || len(rest) < 20 {
			continue
		}
		user, err := strconv.ParseFloat(rest[11], 64)
		system, err2 := strconv.ParseFloat(rest[12], 64)
		if err == nil && err2 == nil {
			c.processes[pid] = process{line[open+1 : end], rest[19], (user + system) / ticks}
		}
	}
	return c
}

// Withheld is the share of the CPU time wanted between two readings that the hypervisor gave to others.
func (c *Census) Withheld(before *Census) float64 {
	stolen := c.all.Steal - before.all.Steal
	return stolen / max(1./ticks, c.all.Busy()-before.all.Busy()+stolen)
}

// User is how many CPUs the processes of a name used.
type User struct {
	Name string
	CPUs float64
}

// Users are the processes that used the CPUs between two readings, the busiest first;
// except those with the given names.
func (c *Census) Users(before *Census, but ...string) (all []User, sum float64) {
	seconds := c.At.Sub(before.At).Seconds()
	by := map[string]float64{}
	for pid, p := range c.processes {
		used := p.seconds
		if b, ok := before.processes[pid]; ok && b.started == p.started {
			used -= b.seconds
		}
		if used > 0 && seconds > 0 && !slices.Contains(but, p.name) {
			by[p.name] += used / seconds
			sum += used / seconds
		}
	}
	for name, cpus := range by {
		all = append(all, User{name, cpus})
	}
	slices.SortFunc(all, func(x, y User) int { return cmp.Or(cmp.Compare(y.CPUs, x.CPUs), cmp.Compare(x.Name, y.Name)) })
	return all, sum
}

// OwnNames are the names of the processes that are ours: this program, which is also its
// own worker, and the program on other machines.
func OwnNames() []string {
	names := []string{"plimsoll", "plimsoll-agent"}
	if name, err := os.ReadFile("/proc/self/comm"); err == nil {
		names = append(names, strings.TrimSpace(string(name)))
	} else if self, err := os.Executable(); err == nil {
		names = append(names, filepath.Base(self))
	}
	return names
}
