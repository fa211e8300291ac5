package trial

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/platform"
)

// census is what each process of a host has used of its CPUs at an instant.
type census struct {
	at        time.Time
	processes map[int]process
	steal     float64 // that the hypervisor took, in CPU seconds
	cpus      int
}

type process struct {
	name    string
	seconds float64 // of CPU time
}

const (
	ticks        = 100.            // USER_HZ, fixed for user space by proc(5)
	censusTakes  = 2 * time.Second // at most
	censusNames  = 3               // processes that are named
	littleCPU    = .02             // CPUs below which a process is not worth its name
	busyWorker   = .8              // CPUs for each thread, from which a generator is at its own limit
	littleWaited = .01             // share of the time ready and without a CPU that tells lack of CPU
	muchOthers   = .5              // of the host's CPUs used by others that tells it where the first is not known
	muchSteal    = .1              // of the host's CPUs taken by the hypervisor
)

// census looks at the processes of the generator's machine; nil where they cannot be
// seen.
func (a *attempt) census(ctx context.Context) *census {
	if a.sim != nil || a.machine == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, censusTakes)
	defer cancel()
	at := time.Now()
	r, err := a.machine.Run(ctx, platform.Command{Argv: []string{"sh", "-c", "cat /proc/stat /proc/[0-9]*/stat 2>/dev/null"}})
	if err != nil || len(r.Stdout) == 0 {
		return nil
	}
	return readCensus(string(r.Stdout), at)
}

// readCensus reads /proc/stat and the stat of each process, one after the other
// (proc(5)). What it does not understand it leaves out.
func readCensus(text string, at time.Time) *census {
	c := &census{at: at, processes: map[int]process{}}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch {
		case len(f) > 8 && f[0] == "cpu":
			steal, _ := strconv.ParseFloat(f[8], 64)
			c.steal = steal / ticks
		case len(f) > 0 && strings.HasPrefix(f[0], "cpu"):
			c.cpus++
		}
		open, end := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
		if open < 0 || end < open {
			continue
		}
		pid, err := strconv.Atoi(strings.TrimSpace(line[:open]))
		rest := strings.Fields(line[end+1:])
		if err != nil || len(rest) < 13 {
			continue
		}
		user, err := strconv.ParseFloat(rest[11], 64)
		system, err2 := strconv.ParseFloat(rest[12], 64)
		if err == nil && err2 == nil {
			c.processes[pid] = process{line[open+1 : end], (user + system) / ticks}
		}
	}
	return c
}

// user is how many CPUs the processes of a name used.
type user struct {
	name string
	cpus float64
}

// users are those who used the CPUs between two looks, the busiest first; not those of
// the given names.
func (c *census) users(before *census, but ...string) (all []user, sum float64) {
	seconds := c.at.Sub(before.at).Seconds()
	by := map[string]float64{}
	for pid, p := range c.processes {
		used := p.seconds
		if b, ok := before.processes[pid]; ok && b.name == p.name {
			used -= b.seconds
		}
		if used > 0 && seconds > 0 && !slices.Contains(but, p.name) {
			by[p.name] += used / seconds
			sum += used / seconds
		}
	}
	for name, cpus := range by {
		all = append(all, user{name, cpus})
	}
	slices.SortFunc(all, func(x, y user) int { return cmp.Or(cmp.Compare(y.cpus, x.cpus), cmp.Compare(x.name, y.name)) })
	return all, sum
}

// explainVoid tells lack of CPU from a generator at its own limit, and who took the CPU.
func (a *attempt) explainVoid(p *measure.Probe, before, after *census) {
	busy := p.Values[generatorCPU]
	waited, known := p.Values[measure.GeneratorWaited]
	who, others, stolen := "", 0., 0.
	if before != nil && after != nil && after.cpus > 0 {
		var all []user
		all, others = after.users(before, ownNames()...)
		others /= float64(after.cpus)
		stolen = (after.steal - before.steal) / max(1e-3, after.at.Sub(before.at).Seconds()) / float64(after.cpus)
		who = named(all, after.cpus, stolen)
	}
	if busy > busyWorker || !(known && waited > littleWaited || others > muchOthers || stolen > muchSteal) {
		return
	}
	p.Starved = true
	p.Reason = fmt.Sprintf("the host was busy: the generator used %s of its CPUs and waited for one %s of the time", percent(busy), percent(waited))
	if who != "" {
		p.Reason += "; meanwhile " + who
	}
}

// named says in words who used the CPUs.
func named(all []user, cpus int, stolen float64) string {
	var parts []string
	for _, u := range all[:min(censusNames, len(all))] {
		if u.cpus >= littleCPU {
			parts = append(parts, fmt.Sprintf("%s used %.2f", u.name, u.cpus))
		}
	}
	text := ""
	if len(parts) > 0 {
		text = fmt.Sprintf("%s of %d CPUs", strings.Join(parts, ", "), cpus)
	}
	if stolen > muchSteal {
		if text != "" {
			text += ", and "
		}
		text += "the hypervisor gave " + percent(stolen) + " of the CPU time to others"
	}
	return text
}

// ownNames are the names of the processes that are ours: this program, which is also its
// own worker, and the program on other machines.
func ownNames() []string {
	names := []string{"plimsoll", "plimsoll-agent"}
	if name, err := os.ReadFile("/proc/self/comm"); err == nil {
		names = append(names, strings.TrimSpace(string(name)))
	} else if self, err := os.Executable(); err == nil {
		names = append(names, filepath.Base(self))
	}
	return names
}
