package cpu

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat/cgroup"
)

const (
	// leastThrottled is the share of quota periods with throttling above which it is reported.
	leastThrottled = 0.05
	// leastLostToQuota is the share of the wanted CPU time that throttling must cost.
	leastLostToQuota = 0.02
)

// cpuQuota finds control groups that a CPU quota throttles, their own or an ancestor's. The
// kernel counts it, so nothing looks alike; a quota that is hardly ever reached stays silent.
var cpuQuota = diagnosis.Rule{
	Name: "cpu_quota", Area: diagnosis.CPU,
	Doc:   "a CPU quota throttles a control group",
	Needs: []string{"groups", "processes"},
	Explains: []string{
		"cpu_saturated", "hot_thread", "noisy_neighbour", "periodic_stall", "too_few_workers", "cpu_affinity", "cpuset_too_small", "too_many_workers",
		"ready_time", "client_limit", "lock_convoy", "listen_queue",
	},
	Episodes: true,
	Check: func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		for i := range e.Mean.Groups {
			g := &e.Mean.Groups[i]
			if g.Quota == 0 || g.Periods == 0 || g.ThrottledPeriods/g.Periods < leastThrottled {
				continue
			}
			p := inGroup(e, g.Path)
			used := max(g.Usage, usageOf(e, g.Path))
			wanted := min(used+g.Throttled, e.Online())
			if p == nil || !e.Asked(p.Processes[0]) || wanted-used < leastLostToQuota*wanted {
				continue
			}
			found = append(found, diagnosis.Finding{
				Subject:    p.Subject(),
				Says:       "A CPU quota of {quota} CPUs throttles {subject} in {periods} of its periods: it used {used} CPUs and would have used about {wanted}.",
				Confidence: diagnosis.Certain,
				Impact:     min(1, (wanted-used)/wanted),
				Evidence:   []diagnosis.Fact{diagnosis.Number("quota", g.Quota), diagnosis.Share("periods", g.ThrottledPeriods/g.Periods), diagnosis.Number("used", used), diagnosis.Number("wanted", wanted)},
				Change: &diagnosis.Change{
					Says:    fmt.Sprintf("raise the CPU quota of control group %s to at least %.3g CPUs, or remove it", g.Path, wanted),
					Command: quotaCommand(g),
					Factor:  "host.quota",
				},
				Prediction: &diagnosis.Prediction{Low: 0.5 * (wanted/used - 1), High: wanted/used - 1, Of: "throughput", Basis: "CPUs wanted / CPUs used"},
			})
		}
		return found
	},
}

// inGroup is the busiest program in a group or below it.
func inGroup(e *diagnosis.Evidence, group string) *diagnosis.Program {
	for _, p := range e.Programs() {
		if below(group, p.Group) {
			return p
		}
	}
	return nil
}

// usageOf is the CPU time of the programs in a group, for kernels that do not count it.
func usageOf(e *diagnosis.Evidence, group string) (busy float64) {
	for _, p := range e.Programs() {
		if below(group, p.Group) {
			busy += p.Busy
		}
	}
	return busy
}

func below(group, member string) bool {
	return member == group || group == "/" || strings.HasPrefix(member, group+"/")
}

// quotaCommand removes a quota: by the container's manager or systemd where one set it, else in
// the group's folder.
func quotaCommand(g *cgroup.Group) string {
	if id, ok := container(g.Path); ok {
		return "docker update --cpus 0 " + id
	}
	if unit := path.Base(g.Path); slices.Contains([]string{".service", ".scope", ".slice"}, path.Ext(unit)) {
		return "systemctl set-property --runtime " + unit + " CPUQuota="
	}
	if g.Version == 1 {
		return "echo -1 > " + folderOf(g, "cpu") + "/cpu.cfs_quota_us"
	}
	return "echo max > " + folderOf(g, "cpu") + "/cpu.max"
}
