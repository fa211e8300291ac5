package serve

import (
	"bytes"
	"net/http"
	"strings"
	"time"

	"plimsoll/internal/exposition"
	"plimsoll/internal/history"
)

// mostExposed is how many runs that ended are exposed, the latest: others are no news for a monitoring system.
const mostExposed = 100

// metrics is the state of the runs for Prometheus.
func (s *Server) metrics(r *http.Request) (answer, error) {
	runs, err := s.list(r.Context())
	if err != nil {
		return answer{}, err
	}
	var out bytes.Buffer
	open := strings.Contains(r.Header.Get("Accept"), "application/openmetrics-text")
	if err := exposition.Write(&out, append(families(runs), s.meters.families(runs, time.Now())...), open); err != nil {
		return answer{}, err
	}
	kind := exposition.Text
	if open {
		kind = exposition.OpenMetrics
	}
	return answer{body: out.Bytes(), kind: kind, policy: closed}, nil
}

// families are the metrics of runs, which are listed in the order of interest.
func families(runs []history.Run) []exposition.Family {
	states := exposition.Family{Name: "plimsoll_runs", Type: exposition.Gauge, Help: "Runs in the folders by state."}
	count := map[history.State]float64{}
	info := exposition.Family{Name: "plimsoll_run", Type: exposition.Info, Help: "A run: its study, state, verdict and testbed."}
	start := exposition.Family{Name: "plimsoll_run_start_time_seconds", Unit: "seconds", Type: exposition.Gauge, Help: "Start of a run, Unix time."}
	trials := exposition.Family{Name: "plimsoll_trials", Type: exposition.Counter, Help: "Trials of a run that ended, by state."}
	ratios := exposition.Family{Name: "plimsoll_headline_ratio", Unit: "ratio", Type: exposition.Gauge, Help: "Arm divided by baseline of a headline of a run that ended: the estimate and the ends of its interval."}
	ended := 0
	for i := range runs {
		r := &runs[i]
		count[r.State]++
		if r.State != history.Running {
			if ended++; ended > mostExposed {
				continue
			}
		}
		labels := func(more ...string) []string { return append([]string{"run", r.ID, "study", r.Study}, more...) }
		info.Add(1, labels("state", string(r.State), "verdict", r.Verdict, "testbed", r.Testbed, "folder", r.Folder)...)
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
	for _, state := range history.States() {
		states.Add(count[history.State(state)], "state", state)
	}
	return []exposition.Family{states, info, start, trials, ratios}
}
