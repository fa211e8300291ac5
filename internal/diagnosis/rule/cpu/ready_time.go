package cpu

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat"
	"plimsoll/internal/pattern"
)

const (
	// mostReady is the ready time per vCPU that VMware's performance manuals call a problem.
	mostReady = 0.1
	// meanReady is the mean over the vCPUs of a guest from which on all of them suffer.
	meanReady = 0.05
)

var (
	vcpuName  = pattern.Of(`^(CPU \d+/(KVM|TCG|HVF)|fc_vcpu ?\d+|vcpu\d+|EMT-\d+|vcpu:.*)$`)
	guestName = pattern.Of(`(?:-name (?:guest=)?|--name[ =]|--id[ =]|--comment )([^ ,]+)`)
)

// monitors are the programs that run guests, by the beginning of their names.
var monitors = []string{"qemu", "kvm", "firecracker", "cloud-hyperviso", "crosvm", "VBoxHeadless", "vmware-vmx", "bhyve"}

// readyTime finds guests whose vCPU threads wait for the CPUs of this host. A quota or a CPU set
// of the guest looks alike: those rules explain it.
var readyTime = diagnosis.Rule{
	Name: "ready_time", Area: diagnosis.Virtualisation,
	Doc:      "vCPUs of guests on this host wait for its CPUs",
	Needs:    []string{"cpus", "processes"},
	Explains: []string{"cpu_saturated", "noisy_neighbour", "too_many_workers", "hot_thread"},
	Check: func(e *diagnosis.Evidence) []diagnosis.Finding {
		var waiting []guest
		all, guests := 0, 0.
		for i := range e.Mean.Processes {
			g, ok := guestOf(&e.Mean.Processes[i])
			if !ok {
				continue
			}
			all, guests = all+g.vcpus, guests+g.busy
			if e.Asked(g.process) && (g.worst >= mostReady || g.ready >= meanReady*float64(g.vcpus)) {
				waiting = append(waiting, g)
			}
		}
		if len(waiting) == 0 {
			return nil
		}
		slices.SortStableFunc(waiting, func(a, b guest) int { return cmp.Compare(b.share(), a.share()) })
		worst := waiting[0]
		others := ""
		for i, g := range waiting[1:] {
			if i == 3 {
				others += " and others"
				break
			}
			others += ", " + g.name
		}
		if others != "" {
			others = " So do " + strings.TrimPrefix(others, ", ") + "."
		}
		change, users := "move a guest to another host, or give guests fewer vCPUs, "+worst.name+" to begin with", []diagnosis.Fact(nil)
		if top := largestBeside(e); top != nil && top.Busy > guests {
			others += " " + top.Subject() + ", which is no guest, uses {used by the host} CPUs."
			users = append(users, diagnosis.Number("used by the host", top.Busy))
			change = "move " + top.Name + " off this host, or lower its CPU weight"
		}
		return []diagnosis.Finding{{
			Subject: fmt.Sprintf("%s (%d)", worst.process.Name, worst.process.PID),
			Says: diagnosis.Plural(float64(worst.vcpus), "The vCPU of guest "+worst.name+" waits for CPUs of this host {ready} of the time it wants to run.",
				"The {vCPUs} vCPUs of guest "+worst.name+" wait for CPUs of this host {ready} of the time they want to run, the worst one {worst} of all time.") +
				others + diagnosis.Plural(float64(all), "", " {all} vCPUs are active on {CPUs} CPUs."),
			Confidence: diagnosis.Certain,
			Impact:     min(1, worst.share()),
			Evidence: append([]diagnosis.Fact{
				diagnosis.Number("vCPUs", float64(worst.vcpus)), diagnosis.Share("ready", worst.share()), diagnosis.Share("worst", worst.worst), diagnosis.Number("used", worst.busy),
				diagnosis.Number("CPUs", e.Online()), diagnosis.Number("all", float64(all)), diagnosis.Number("guests that wait", float64(len(waiting))),
			}, users...),
			Change:     &diagnosis.Change{Says: change},
			Prediction: &diagnosis.Prediction{Low: 0, High: worst.ready / max(worst.busy, 1e-9), Of: "throughput of the guest", Basis: "CPU time asked for / CPU time received"},
		}}
	},
}

// largestBeside is the program that uses most CPU time beside the guests; nil without one.
func largestBeside(e *diagnosis.Evidence) *diagnosis.Program {
	for _, p := range e.Programs() {
		if len(vcpus(p.Processes[0])) == 0 {
			return p
		}
	}
	return nil
}

// guest is a VM with the CPU time of its vCPUs.
type guest struct {
	process            *hoststat.Process
	name               string
	vcpus              int
	worst, ready, busy float64
}

// share is the share of its runnable time in which it waits.
func (g *guest) share() float64 { return g.ready / max(g.ready+g.busy, 1e-9) }

// guestOf is the guest that a process runs.
func guestOf(p *hoststat.Process) (guest, bool) {
	tasks := vcpus(p)
	g := guest{process: p, name: guestTitle(p), vcpus: len(tasks)}
	for _, t := range tasks {
		g.worst, g.ready, g.busy = max(g.worst, t.RunDelay), g.ready+t.RunDelay, g.busy+t.Busy()
	}
	return g, len(tasks) > 0
}

// vcpus are the vCPU threads of a process that runs a guest. Where threads have no names of
// their own, those that are busy count.
func vcpus(p *hoststat.Process) (tasks []hoststat.Thread) {
	for _, t := range p.Tasks {
		if vcpuName().MatchString(t.Name) {
			tasks = append(tasks, t)
		}
	}
	if len(tasks) > 0 || !monitor(p.Name) || p.Guest == 0 {
		return tasks
	}
	for _, t := range p.Tasks {
		if t.Busy() >= 0.1*p.Busy() {
			tasks = append(tasks, t)
		}
	}
	return tasks
}

func monitor(name string) bool {
	for _, prefix := range monitors {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// guestTitle is the name of a guest in the command line of its process, or the process.
func guestTitle(p *hoststat.Process) string {
	if found := guestName().FindStringSubmatch(p.Command); found != nil {
		return found[1]
	}
	return fmt.Sprintf("%s (%d)", p.Name, p.PID)
}
