package serve

import (
	"sync"
	"time"

	"plimsoll/internal/events"
	"plimsoll/internal/exposition"
	"plimsoll/internal/history"
)

// mostMeters is how many runs that go on are metered: each has an open file.
const mostMeters = 64

// meters are those of the runs that go on, by ID.
type meters struct {
	mu sync.Mutex
	of map[string]*events.Meter
}

// families are the metrics of the load of runs that go on: the operations so far, and the last interval while there is a load. No label names
// the arm: between planned looks nothing compares arms.
func (m *meters) families(runs []history.Run, now time.Time) []exposition.Family {
	const second = "per_second"
	operations := exposition.Family{Name: "plimsoll_operations", Type: exposition.Counter, Help: "Operations of a run that goes on, by outcome, those of warm-ups included."}
	interval := func(name, unit, help string) exposition.Family {
		return exposition.Family{Name: "plimsoll_interval_" + name, Unit: unit, Type: exposition.Gauge, Help: help + " in the last interval of the load under way."}
	}
	rate, failed := interval("operations_per_second", second, "Successful operations per second"), interval("errors_per_second", second, "Failed operations per second")
	p50, p99 := interval("p50_seconds", "seconds", "Median response time"), interval("p99_seconds", "seconds", "99th percentile of response times")
	for _, g := range m.running(runs) {
		reading, err := g.meter.Read(now)
		if err != nil {
			continue // it has no events yet, or none any more
		}
		labels := []string{"run", g.run.ID, "study", g.run.Study}
		operations.Add(reading.Operations, append(labels, "outcome", "success")...)
		operations.Add(reading.Errors, append(labels, "outcome", "error")...)
		l := reading.Load
		if l == nil || l.To <= l.From {
			continue
		}
		rate.Add(l.Rate, labels...)
		failed.Add(float64(l.Errors)/(l.To-l.From), labels...)
		if l.P50 != nil {
			p50.Add(*l.P50, labels...)
		}
		if l.P99 != nil {
			p99.Add(*l.P99, labels...)
		}
	}
	return []exposition.Family{operations, rate, failed, p50, p99}
}

// metered is a run that goes on, with its meter.
type metered struct {
	run   *history.Run
	meter *events.Meter
}

// running are the runs that go on, with their meters. Those of others are closed.
func (m *meters) running(runs []history.Run) (all []metered) {
	m.mu.Lock()
	defer m.mu.Unlock()
	kept := map[string]*events.Meter{}
	for i := range runs {
		r := &runs[i]
		if r.State != history.Running || len(all) == mostMeters {
			continue
		}
		meter := m.of[r.ID]
		if meter == nil {
			meter = events.NewMeter(r.Folder)
		}
		kept[r.ID] = meter
		all = append(all, metered{r, meter})
	}
	for id, meter := range m.of {
		if kept[id] == nil {
			meter.Close()
		}
	}
	m.of = kept
	return all
}

func (m *meters) close() { m.running(nil) }
