// Package metrics has the metrics of runs for monitoring systems. Their number is bounded, however many runs there are.
package metrics

import (
	"plimsoll/internal/exposition"
	"plimsoll/internal/history"
)

// mostExposed is how many runs that ended are exposed, the latest: others are no news for a monitoring system.
const mostExposed = 100

// Families are the metrics of runs, which are listed in the order of interest: how many there are, and each of them.
func Families(runs []history.Run) []exposition.Family {
	states := exposition.Family{Name: "plimsoll_runs", Type: exposition.Gauge, Help: "Runs in the folders by state."}
	count := map[history.State]float64{}
	exposed, ended := make([]history.Run, 0, mostExposed), 0
	for i := range runs {
		count[runs[i].State]++
		if runs[i].State != history.Running {
			if ended++; ended > mostExposed {
				continue
			}
		}
		exposed = append(exposed, runs[i])
	}
	for _, state := range history.States() {
		states.Add(count[history.State(state)], "state", state)
	}
	return append([]exposition.Family{states}, Of(exposed)...)
}

// Of are the metrics of each of some runs.
func Of(runs []history.Run) []exposition.Family {
	info := exposition.Family{Name: "plimsoll_run", Type: exposition.Info, Help: "A run: its study, state, verdict and testbed."}
	start := exposition.Family{Name: "plimsoll_run_start_time_seconds", Unit: "seconds", Type: exposition.Gauge, Help: "Start of a run, Unix time."}
	trials := exposition.Family{Name: "plimsoll_trials", Type: exposition.Counter, Help: "Trials of a run that ended, by state."}
	ratios := exposition.Family{Name: "plimsoll_headline_ratio", Unit: "ratio", Type: exposition.Gauge, Help: "Arm divided by baseline of a headline of a run that ended: the estimate and the ends of its interval."}
	for i := range runs {
		r := &runs[i]
		labels := func(more ...string) []string { return append([]string{"run", r.ID, "study", r.Study}, more...) }
		verdict := ""
		if r.Ends() { // findings of an earlier session decide nothing
			verdict = r.Verdict
		}
		info.Add(1, labels("state", string(r.State), "verdict", verdict, "testbed", r.Testbed, "folder", r.Folder)...)
		if !r.Started.IsZero() {
			start.Add(float64(r.Started.UnixMilli())/1000, labels()...)
		}
		trials.Add(float64(r.Trials-r.Void), labels("state", "valid")...)
		trials.Add(float64(r.Void), labels("state", "void")...)
		if !r.Ends() {
			continue
		}
		seen := map[string]bool{}
		for _, h := range r.Headlines {
			if key := h.Metric + "\x00" + h.Arm; !seen[key] {
				seen[key] = true
				ratios.Add(h.Ratio, labels("metric", h.Metric, "arm", h.Arm, "bound", "estimate")...)
				ratios.Add(h.Low, labels("metric", h.Metric, "arm", h.Arm, "bound", "low")...)
				ratios.Add(h.High, labels("metric", h.Metric, "arm", h.Arm, "bound", "high")...)
			}
		}
	}
	return []exposition.Family{info, start, trials, ratios}
}
