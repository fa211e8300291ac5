package cpu

import (
	"fmt"
	"path"
	"strings"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat/cgroup"
)

const (
	preset  = 100. // CPU weight of a control group that nobody changed
	lowered = 50.  // weight from which on a group has clearly less than its siblings
	nicer   = 5    // difference of nice values: three times the CPU time
)

// Scheduling policies, as in sched(7).
const (
	fifo     = 1
	robin    = 2
	idle     = 5
	deadline = 6
)

// priority is the change that gives a service more of the CPUs which a loud program uses: its own
// priority where it was lowered, else that of the other.
func priority(e *diagnosis.Evidence, service, loud *diagnosis.Program) *diagnosis.Change {
	mine, theirs := service.Processes[0], loud.Processes[0]
	if policy := theirs.Policy; policy == fifo || policy == robin || policy == deadline {
		return &diagnosis.Change{
			Says:    "schedule " + loud.Name + " like other programs: it has real-time priority, and runs before all of them",
			Command: forEach(loud, "chrt --other --all-tasks --pid 0 %d"),
		}
	}
	if mine.Policy == idle && theirs.Policy != idle {
		return &diagnosis.Change{
			Says:    "schedule " + service.Name + " like other programs: it has the policy SCHED_IDLE, and gets only what they leave",
			Command: forEach(service, "chrt --other --all-tasks --pid 0 %d"),
		}
	}
	if g := light(e, service, loud); g != nil {
		return &diagnosis.Change{Says: fmt.Sprintf("raise the CPU weight of control group %s from %.0f to %.0f", g.Path, g.Weight, preset), Command: weigh(g)}
	}
	alone := e.Setting("proc/sys/kernel/sched_autogroup_enabled") == "1" && service.Group == "/" && loud.Group == "/" && mine.Session != theirs.Session
	if service.Group == loud.Group && !alone && mine.Nice >= theirs.Nice+nicer {
		return &diagnosis.Change{
			Says:    fmt.Sprintf("raise the priority of %s: its nice value is %d, and that of %s %d", service.Name, mine.Nice, loud.Name, theirs.Nice),
			Command: processes("renice -n "+fmt.Sprint(theirs.Nice)+" -p", service),
		}
	}
	c := &diagnosis.Change{Says: "move " + loud.Name + " to other CPUs or another host, or lower its CPU weight", Command: processes("renice -n 19 -p", loud)}
	if unit, ok := diagnosis.SystemdUnit(loud.Group); ok {
		c.Command = "systemctl set-property --runtime " + unit + " CPUWeight=1"
	} else if alone { // nice values count within a session only
		c.Command = fmt.Sprintf("echo 19 > /proc/%d/autogroup", theirs.PID)
	}
	return c
}

// light is the outermost control group of a service, and not of the other program, with a low CPU
// weight; nil if there is none.
func light(e *diagnosis.Evidence, service, loud *diagnosis.Program) (found *cgroup.Group) {
	for at := service.Group; at != "/" && at != "." && at != ""; at = path.Dir(at) {
		if at == loud.Group || strings.HasPrefix(loud.Group, at+"/") {
			break
		}
		if g := e.Group(at); g != nil && g.Weight > 0 && g.Weight <= lowered {
			found = g
		}
	}
	return found
}

// weigh is the command that gives a control group the preset weight.
func weigh(g *cgroup.Group) string {
	if unit, ok := diagnosis.SystemdUnit(g.Path); ok && strings.HasSuffix(g.Path, unit) {
		return "systemctl set-property --runtime " + unit + " CPUWeight=100"
	}
	if g.Version == 1 {
		return "echo 1024 > " + folderOf(g, "cpu") + "/cpu.shares"
	}
	return "echo 100 > " + folderOf(g, "cpu") + "/cpu.weight"
}

const mostNamed = 8 // processes in a command

// processes is a command with the processes of a program.
func processes(command string, p *diagnosis.Program) string {
	for _, one := range p.Processes[:min(mostNamed, len(p.Processes))] {
		command += fmt.Sprintf(" %d", one.PID)
	}
	return command
}

// forEach is a command for each process of a program.
func forEach(p *diagnosis.Program, command string) string {
	var all []string
	for _, one := range p.Processes[:min(mostNamed, len(p.Processes))] {
		all = append(all, fmt.Sprintf(command, one.PID))
	}
	return strings.Join(all, "; ")
}
