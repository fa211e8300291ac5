package frequency

import (
	"fmt"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat/power"
)

const (
	// deepState is the time to leave an idle state from which on requests notice it.
	deepState = 50e-6
	// leastWaking is the share of its time that a CPU spends leaving deep states: it wakes for
	// nearly every request.
	leastWaking = 0.1
)

// cStateLatency finds CPUs that enter a deep idle state between requests. An idle host does so
// rarely, and a busy one has no time for it.
var cStateLatency = diagnosis.Rule{
	Name: "c_state_latency", Area: diagnosis.CPU,
	Doc:      "CPUs fall into deep idle states between requests, and requests wait for them to wake",
	Needs:    []string{"cpus"},
	Explains: []string{"rescheduling_storm"},
	Lacks: func(e *diagnosis.Evidence) string {
		if e.Mean.Power == nil || deepest(e.Mean.Power.CPUs) == nil {
			return "no idle states with a time to leave them"
		}
		return ""
	},
	Check: func(e *diagnosis.Evidence) []diagnosis.Finding {
		worst, waking, rates := -1, 0., 0.
		for n, c := range e.Mean.Power.CPUs {
			lost, wakes := 0., 0.
			for _, state := range c.Idle {
				if state.Latency >= deepState {
					lost, wakes = lost+state.Usage*state.Latency, wakes+state.Usage
				}
			}
			if lost > waking {
				worst, waking, rates = n, lost, wakes
			}
		}
		if worst < 0 || waking < leastWaking {
			return nil
		}
		state := deepest(e.Mean.Power.CPUs[worst : worst+1])
		return []diagnosis.Finding{{
			Says:       fmt.Sprintf("CPU %d wakes {wakes} from deep idle states; leaving %s takes up to {latency}, about {waking} of its time.", worst, state.Name),
			Confidence: diagnosis.Possible,
			Impact:     min(1, waking),
			Evidence:   []diagnosis.Fact{diagnosis.Rate("wakes", rates), diagnosis.Seconds("latency", state.Latency), diagnosis.Share("waking", min(1, waking))},
			Change: &diagnosis.Change{
				Says:    "disable deep idle states while latency matters; it costs power",
				Command: fmt.Sprintf("cpupower idle-set --disable-by-latency %.0f   # undo: cpupower idle-set --enable-all", deepState*1e6-1),
			},
			Prediction: &diagnosis.Prediction{Low: 0, High: min(1, waking), Of: "response time, as a reduction", Basis: "time to leave idle states"},
		}}
	},
}

// deepest is the idle state of CPUs that takes longest to leave; nil if all leave at once.
func deepest(cpus []power.CPU) (deep *power.Idle) {
	for n := range cpus {
		for k := range cpus[n].Idle {
			if state := &cpus[n].Idle[k]; state.Latency >= deepState && (deep == nil || state.Latency > deep.Latency) {
				deep = state
			}
		}
	}
	return deep
}
