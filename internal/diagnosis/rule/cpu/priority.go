package cpu

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat/cgroup"
)

const (
	preset = 100. // CPU weight of a control group that nobody changed
	least  = 1.   // CPU weight, but for groups with cpu.idle
	light  = 0.5  // share of another group's weight from which on one has clearly less
	nicer  = 5    // difference of nice values: three times the CPU time
)

// Scheduling policies, as in sched(7).
const (
	schedFIFO     = 1
	schedRR       = 2
	schedIdle     = 5
	schedDeadline = 6
)

// priority is the change that gives a service more of the CPUs which a loud program uses: its own
// priority where it was lowered, else that of the other.
func priority(e *diagnosis.Evidence, service, loud *diagnosis.Program) *diagnosis.Change {
	mine, theirs := service.Processes[0], loud.Processes[0]
	if policy := theirs.Policy; policy == schedFIFO || policy == schedRR || policy == schedDeadline {
		return &diagnosis.Change{
			Says:    "schedule " + loud.Name + " like other programs: it has real-time priority, and runs before all of them",
			Command: forEach(loud, "chrt --other --all-tasks --pid 0 %d"),
		}
	}
	if mine.Policy == schedIdle && theirs.Policy != schedIdle {
		return &diagnosis.Change{
			Says:    "schedule " + service.Name + " like other programs: it has the policy SCHED_IDLE, and gets only what they leave",
			Command: forEach(service, "chrt --other --all-tasks --pid 0 %d"),
		}
	}
	if pod(service) || pod(loud) {
		return &diagnosis.Change{Says: "move " + loud.Name + " to other CPUs or another host, or lower its CPU request: weights of pods follow from their requests"}
	}
	servicePath, loudPath := rivals(service.Group, loud.Group)
	own, other := weighed(e, servicePath), weighed(e, loudPath)
	if own != nil && own.Weight < preset && own.Weight <= light*weightOf(other) {
		return &diagnosis.Change{Says: fmt.Sprintf("raise the CPU weight of control group %s from %.3g to %.0f", servicePath, own.Weight, preset), Command: weigh(own, preset)}
	}
	c := &diagnosis.Change{Says: "move " + loud.Name + " to other CPUs or another host, or lower its CPU weight"}
	switch unit := path.Base(loudPath); {
	case other != nil && other.Weight <= least:
		c.Says = "move " + loud.Name + " to other CPUs or another host: its CPU weight is the least already"
	case other != nil:
		c.Command = weigh(other, least)
	case strings.HasSuffix(unit, ".service") || strings.HasSuffix(unit, ".scope"):
		c.Command = "systemctl set-property --runtime " + unit + " CPUWeight=1"
	case own == nil && mine.Session != theirs.Session && e.Setting("proc/sys/kernel/sched_autogroup_enabled") == "1": // nice values count within a session only
		c.Command = fmt.Sprintf("echo 19 > /proc/%d/autogroup", theirs.PID)
	case mine.Nice >= theirs.Nice+nicer && mine.Nice > 0:
		c.Says = fmt.Sprintf("raise the priority of %s: its nice value is %d, and that of %s %d", service.Name, mine.Nice, loud.Name, theirs.Nice)
		c.Command = renice(0, service)
	case mine.Nice >= theirs.Nice+nicer:
		c.Says = fmt.Sprintf("give %s the usual priority: its nice value is %d", loud.Name, theirs.Nice)
		c.Command = renice(0, loud)
	default:
		c.Command = renice(19, loud)
	}
	return c
}

// pod reports whether Kubernetes runs a program.
func pod(p *diagnosis.Program) bool { return strings.HasPrefix(p.Group, "/kubepods") }

// rivals are the control groups that compete for the CPU time of two groups: those below the nearest group that has
// both. Empty is that group itself.
func rivals(a, b string) (ofA, ofB string) {
	x, y := strings.Split(strings.Trim(a, "/"), "/"), strings.Split(strings.Trim(b, "/"), "/")
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	below := func(parts []string) string {
		if n >= len(parts) || parts[n] == "" {
			return ""
		}
		return "/" + strings.Join(parts[:n+1], "/")
	}
	return below(x), below(y)
}

// weighed is a control group that has a CPU weight; nil if there is none.
func weighed(e *diagnosis.Evidence, group string) *cgroup.Group {
	if g := e.Group(group); group != "" && g != nil && g.Weight > 0 {
		return g
	}
	return nil
}

func weightOf(g *cgroup.Group) float64 {
	if g == nil {
		return preset
	}
	return g.Weight
}

// weigh is the command that sets the CPU weight of a control group.
func weigh(g *cgroup.Group, weight float64) string {
	unit := path.Base(g.Path)
	for _, kind := range []string{".service", ".scope", ".slice"} {
		if strings.HasSuffix(unit, kind) {
			return fmt.Sprintf("systemctl set-property --runtime %s CPUWeight=%.0f", unit, weight)
		}
	}
	folder := folderOf(g, "cpu")
	switch {
	case g.Version == 1:
		return fmt.Sprintf("echo %.0f > %s/cpu.shares", weight*1024/preset, folder)
	case g.Weight == cgroup.Idle:
		return fmt.Sprintf("echo 0 > %s/cpu.idle", folder)
	}
	return fmt.Sprintf("echo %.0f > %s/cpu.weight", weight, folder)
}

const mostNamed = 8 // processes in a command

// renice is the command that sets the nice value of all threads of a program: each has its own.
func renice(to int, p *diagnosis.Program) string {
	var all []string
	for _, one := range p.Processes[:min(mostNamed, len(p.Processes))] {
		all = append(all, strconv.Itoa(one.PID))
	}
	return fmt.Sprintf("renice -n %d -p $(ps -Lo lwp= -p %s)", to, strings.Join(all, ","))
}

// forEach is a command for each process of a program.
func forEach(p *diagnosis.Program, command string) string {
	var all []string
	for _, one := range p.Processes[:min(mostNamed, len(p.Processes))] {
		all = append(all, fmt.Sprintf(command, one.PID))
	}
	return strings.Join(all, "; ")
}
