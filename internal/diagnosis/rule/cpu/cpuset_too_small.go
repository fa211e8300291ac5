package cpu

import (
	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat"
)

// cpusetTooSmall finds control groups whose CPU set is full while CPUs outside of it are idle.
// An affinity looks alike and is cpu_affinity: there, the group may use more CPUs than the
// program.
var cpusetTooSmall = diagnosis.Rule{
	Name: "cpuset_too_small", Area: diagnosis.CPU,
	Doc:      "a program waits for the CPUs of its control group's CPU set, while others are idle",
	Needs:    []string{"cpus", "processes", "groups"},
	Explains: append([]string{"cpu_affinity"}, confined...),
	Episodes: true,
	Check: func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		for _, r := range restricted(e) {
			if !r.crowded(e) || !r.bySet(e) {
				continue
			}
			found = append(found, diagnosis.Finding{
				Subject:    r.program.Subject(),
				Says:       "The CPU set of {subject} has {allowed CPUs} " + diagnosis.Plural(float64(len(r.cpus)), "CPU (", "CPUs (") + cpuList(r.cpus) + "): {waiting} threads wait for them on average, while {idle} other CPUs are idle.",
				Confidence: diagnosis.Certain,
				Impact:     r.impact(),
				Evidence:   r.evidence(e),
				Change: &diagnosis.Change{
					Says:    "add CPUs to the CPU set of " + r.program.Name,
					Command: setCommand(e, r.program.Processes[0]),
				},
				Prediction: r.prediction(e),
			})
		}
		return found
	},
}

// setCommand gives a group all CPUs.
func setCommand(e *diagnosis.Evidence, p *hoststat.Process) string {
	all := cpuList(onlineCPUs(e))
	g := e.Group(p.SetGroup)
	if g == nil || g.CPUSet == "" {
		g = e.Group(p.Group)
	}
	if g == nil {
		return ""
	}
	if id, ok := container(g.Path); ok {
		return "docker update --cpuset-cpus " + all + " " + id
	}
	if unit, ok := diagnosis.SystemdUnit(g.Path); ok && g.Version != 1 {
		return "systemctl set-property --runtime " + unit + " AllowedCPUs=" + all
	}
	return "echo " + all + " > " + folderOf(g, "cpuset") + "/cpuset.cpus"
}
