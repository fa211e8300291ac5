package cpu

import "plimsoll/internal/diagnosis"

const (
	// leastSteal is the share of the wanted CPU time that is reported: below it are the
	// interruptions by the hypervisor's own housekeeping.
	leastSteal = 0.05
	// leastStolen is the least number of CPUs: on an idle VM a share of nothing is nothing.
	leastStolen = 0.05
	// mainlyStolen is the share from which on waits of programs are consequences: a smaller one adds to what else there is.
	mainlyStolen = 0.2
)

// cpuSteal finds VMs whose vCPUs wait for the CPUs of their host. The hypervisor counts it, so
// nothing looks alike; one that reports no steal stays silent.
var cpuSteal = diagnosis.Rule{
	Name: "cpu_steal", Area: diagnosis.Virtualisation,
	Doc:      "the hypervisor gives the vCPUs of this VM less CPU time than they ask for",
	Needs:    []string{"cpus"},
	Episodes: true,
	Check: func(e *diagnosis.Evidence) []diagnosis.Finding {
		stolen, busy := 0., used(e.Mean)
		for _, c := range e.Mean.CPUs {
			stolen += c.Steal
		}
		part := stolen / max(stolen+busy, 1e-9)
		if part < leastSteal || stolen < leastStolen {
			return nil
		}
		confidence, explains := diagnosis.Likely, []string(nil)
		if part >= mainlyStolen {
			confidence, explains = diagnosis.Certain, []string{"cpu_saturated", "hot_thread", "noisy_neighbour", "periodic_stall", "too_few_workers", "too_many_workers", "client_limit"}
		}
		return []diagnosis.Finding{{
			Says:       "The hypervisor withholds {stolen} of the CPU time that this VM asks for: {waiting} vCPUs wait for CPUs of the host on average.",
			Confidence: confidence,
			Explains:   explains,
			Impact:     min(1, part),
			Evidence:   []diagnosis.Fact{diagnosis.Share("stolen", part), diagnosis.Number("waiting", stolen), diagnosis.Number("used", busy)},
			Change:     &diagnosis.Change{Says: "move this VM to a host with idle CPUs, or raise its CPU shares or limit there; check that host for ready time"},
			Prediction: &diagnosis.Prediction{Low: 0, High: stolen / max(busy, 1e-9), Of: "throughput", Basis: "CPU time asked for / CPU time received, for work that is limited by CPUs"},
		}}
	},
}
