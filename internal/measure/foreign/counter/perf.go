package counter

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/measure/foreign"
	"plimsoll/internal/pattern"
)

// Perf is the report of perf stat.
func Perf() foreign.Format {
	m := func(name, unit, doc string) measure.Metric {
		return measure.Metric{Name: name, Unit: unit, Doc: doc, Better: measure.Neutral}
	}
	return foreign.Format{
		Name: "perf", Doc: "text of `perf stat`, such as `perf stat -a -o FILE sleep 60`", Counters: true,
		Metrics: []measure.Metric{
			m("perf.task-clock", "1", "CPUs used"), m("perf.cycles", "1/s", "CPU cycles per second"), m("perf.instructions", "1/s", "instructions per second"),
			m("perf.ipc", "1", "instructions per cycle"), m("perf.cache-misses", "1/s", "cache misses per second"), m("perf.branch-misses", "1/s", "mispredicted branches per second"),
			m("perf.context-switches", "1/s", "context switches per second"), m("perf.cpu-migrations", "1/s", "migrations of tasks between CPUs per second"), m("perf.page-faults", "1/s", "page faults per second"),
		},
		Absent: "Values are per second of the elapsed time; other events keep their name. What perf did not count or does not support is absent. Events that shared a hardware counter are scaled by perf. " +
			"CSV (`-x`), JSON (`-j`), intervals (`-I`) and single CPUs (`-A`) are not read.",
		Sniff: func(head []byte) bool { return bytes.Contains(head, []byte("Performance counter stats for ")) },
		Parse: parsePerf,
	}
}

var (
	perfBegin   = pattern.Of(`^\s*Performance counter stats for `)
	perfElapsed = pattern.Of(`^\s+([0-9.,]+) (?:\+- [0-9.,]+ )?seconds time elapsed`)
	// The unit of times stands before the event, and in perf before 5.1 behind it.
	perfEvent = pattern.Of(`^\s+([0-9][0-9.,]*|<not counted>|<not supported>)\s+(?:(msec|Joules|MiB|GHz) )?([A-Za-z](?:[\w.:-]|/[^/\s]*/)*)(?: \((msec)\))?`)
)

// perf reads one report: the counts come before the elapsed time.
type perf struct {
	counts map[string]float64
	units  map[string]string
	absent []string
}

func parsePerf(t *foreign.Text) ([]foreign.Run, error) {
	var all []foreign.Run
	var p *perf
	for t.Next() {
		line := t.Line()
		if perfBegin().MatchString(line) {
			p = &perf{counts: map[string]float64{}, units: map[string]string{}}
			continue
		}
		if p == nil {
			continue
		}
		if m := perfElapsed().FindStringSubmatch(line); m != nil {
			seconds, err := grouped(m[1])
			if err != nil {
				return nil, t.Errorf("%w", err)
			}
			all = append(all, p.run(seconds))
			p = nil
			continue
		}
		if m := perfEvent().FindStringSubmatch(line); m != nil {
			if err := p.event(m[1], m[2]+m[4], m[3]); err != nil {
				return nil, t.Errorf("%w", err)
			}
		}
	}
	if len(all) == 0 && t.Err() == nil {
		r := foreign.NewRun("perf")
		r.Void = "the report has no elapsed time: it is truncated"
		all = append(all, r)
	}
	return all, t.Err()
}

// grouped parses a number with commas between groups of digits, as perf prints it in locales that have them.
func grouped(text string) (float64, error) {
	whole, fraction, _ := strings.Cut(text, ".")
	parts := strings.Split(whole, ",")
	for i, part := range parts {
		if i > 0 && len(part) != 3 || i == 0 && len(parts) > 1 && (len(part) < 1 || len(part) > 3) {
			return foreign.Number(text) // an error with the reason
		}
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	return foreign.Number(strings.Join(parts, "") + fraction)
}

func (p *perf) event(value, unit, name string) error {
	name = strings.TrimSuffix(strings.TrimSuffix(name, ":u"), ":k")
	if strings.HasPrefix(value, "<") {
		p.absent = append(p.absent, name+": "+strings.Trim(value, "<>"))
		return nil
	}
	v, err := grouped(value)
	p.counts[name], p.units[name] = v, unit
	return err
}

// total is the count of an event over the kinds of cores, which hybrid CPUs count apart as in cpu_core/cycles/.
func (p *perf) total(event string) (sum float64) {
	for name, v := range p.counts {
		if name == event || strings.HasSuffix(name, "/"+event+"/") {
			sum += v
		}
	}
	return sum
}

func (p *perf) run(seconds float64) foreign.Run {
	r := foreign.NewRun("perf")
	r.Length = foreign.Duration(seconds)
	if seconds <= 0 {
		r.Void = "the elapsed time is 0"
		return r
	}
	for _, name := range slices.Sorted(maps.Keys(p.counts)) {
		v := p.counts[name]
		if p.units[name] == "msec" {
			v /= 1e3
		}
		r.Counters["perf."+name] = v / seconds
		r.Metrics = append(r.Metrics, measure.Metric{Name: "perf." + name, Unit: "1/s", Doc: name + " per second"})
	}
	if cycles, instructions := p.total("cycles"), p.total("instructions"); cycles > 0 && instructions > 0 {
		r.Counters["perf.ipc"] = instructions / cycles
	}
	for _, a := range p.absent {
		r.Missing = append(r.Missing, "perf "+a)
	}
	return r
}
