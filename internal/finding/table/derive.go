package table

import (
	"strings"

	"plimsoll/internal/measure"
)

// derivation is a metric that is computed from others of the same record.
type derivation struct {
	measure.Metric
	value func(*measure.Record) (float64, bool)
}

// busyParts are the counters whose sum is the number of busy CPUs.
var busyParts = []string{"cpu.user", "cpu.system", "cpu.irq", "cpu.softirq"}

// Warmup is the metric of the discarded warm-up, which the analysis determines and no load feels.
const Warmup = "warmup"

// notPerOperation are counters of CPUs that are not work done.
var notPerOperation = map[string]bool{
	"guest.ready": true, "cpu.idle": true, "cpu.iowait": true, "cpu.steal": true, "cpu.count": true, "cpu.frequency": true,
	"cpu.busiest": true,
}

// isShare reports whether a counter says how something is spread over the CPUs.
func isShare(name string) bool {
	for _, suffix := range []string{".busiest_share", ".gini", ".cpus90"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

// derivations lists the derived metrics: busy CPUs, counters per operation, and the warm-up.
// Counters per operation are comparable between arms with different loads.
func (t *Table) derivations() []derivation {
	var all []derivation
	all = append(all, derivation{
		measure.Metric{Name: Warmup, Unit: "s", Doc: "discarded warm-up"},
		func(r *measure.Record) (float64, bool) { return r.Window.Cut, r.Window.End > 0 },
	})
	sources := t.Sources
	if hasAll(sources, busyParts) {
		m := measure.Metric{Name: "cpu.busy", Unit: "1", Doc: "busy CPUs", Better: measure.LowerIsBetter}
		all = append(all, derivation{m, busy})
		if t.Rate != "" {
			all = append(all, perOperation(m, t.Rate, busy))
		}
	}
	if t.Rate == "" {
		return all
	}
	for _, m := range sources {
		cpus := strings.HasPrefix(m.Name, "cpu.") || strings.HasPrefix(m.Name, "guest.") || strings.HasSuffix(m.Name, ".cpu") // the last is of a service
		rate := strings.HasSuffix(m.Unit, "/s") || cpus && m.Unit == "1"
		if !rate || notPerOperation[m.Name] || isShare(m.Name) {
			continue
		}
		all = append(all, perOperation(m, t.Rate, func(r *measure.Record) (float64, bool) {
			x, ok := r.Counters[m.Name]
			return x, ok
		}))
	}
	return all
}

func hasAll(metrics []measure.Metric, names []string) bool {
	found := 0
	for _, m := range metrics {
		for _, n := range names {
			if m.Name == n {
				found++
			}
		}
	}
	return found == len(names)
}

func busy(r *measure.Record) (float64, bool) {
	var sum float64
	for _, name := range busyParts {
		x, ok := r.Counters[name]
		if !ok {
			return 0, false
		}
		sum += x
	}
	return sum, true
}

// perOperation divides a rate by the rate of operations.
func perOperation(m measure.Metric, rate string, value func(*measure.Record) (float64, bool)) derivation {
	unit := map[string]string{"1/s": "1", "B/s": "B", "1": "s"}[m.Unit]
	if unit == "" {
		unit = strings.TrimSuffix(m.Unit, "/s")
	}
	return derivation{
		measure.Metric{Name: m.Name + "/op", Unit: unit, Doc: m.Doc + " per operation", Better: m.Better},
		func(r *measure.Record) (float64, bool) {
			x, ok := value(r)
			operations := r.Values[rate]
			if !ok || operations <= 0 {
				return 0, false
			}
			return x / operations, true
		},
	}
}
