package table

import (
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/measure/foreign"
	"plimsoll/internal/pattern"
)

// Benchfmt is the Go benchmark format.
func Benchfmt() foreign.Format {
	return foreign.Format{
		Name: "benchfmt", Doc: "Go benchmark format: output of `go test -bench`, or of `plimsoll export --to benchfmt`", Rate: "operations",
		Metrics: []measure.Metric{
			{Name: "time/op", Unit: "s", Doc: "time of an operation (ns/op)", Better: measure.LowerIsBetter},
			{Name: "throughput", Unit: "B/s", Doc: "bytes per second (MB/s)", Better: measure.HigherIsBetter},
			{Name: "bytes/op", Unit: "B", Doc: "bytes allocated by an operation (B/op)", Better: measure.LowerIsBetter},
			{Name: "allocs/op", Unit: "1", Doc: "allocations of an operation", Better: measure.LowerIsBetter},
		},
		Absent: "Response times, histograms, errors and times. Each line is a run, each benchmark an arm: repeat them with `-count`. Units have the direction of their `Unit` line, and none without one. " +
			"The order of the lines is not random, blocks of an export are not kept, and void trials are not in it.",
		Sniff: func(head []byte) bool { return benchLine().Match(head) },
		Parse: parseBenchfmt,
	}
}

var benchLine = pattern.Of(`(?m)^Benchmark\S*[ \t]+\d+[ \t]+[0-9.eE+-]+[ \t]+\S+`)

// bench reads the lines of a file.
type bench struct {
	better map[string]measure.Direction // by unit
	tool   string
	all    []foreign.Run
}

func parseBenchfmt(t *foreign.Text) ([]foreign.Run, error) {
	b := &bench{better: map[string]measure.Direction{}, tool: "go test"}
	for t.Next() {
		fields := strings.Fields(t.Line())
		switch {
		case len(fields) > 2 && fields[0] == "Unit":
			b.unit(fields[1], fields[2:])
		case len(fields) == 2 && fields[0] == "study:":
			b.tool = "plimsoll"
		case len(fields) > 3 && strings.HasPrefix(fields[0], "Benchmark"):
			if err := b.line(fields); err != nil {
				return nil, t.Errorf("%w", err)
			}
		}
	}
	return b.all, t.Err()
}

func (b *bench) unit(name string, settings []string) {
	for _, s := range settings {
		if better, ok := strings.CutPrefix(s, "better="); ok && (better == "higher" || better == "lower") {
			b.better[name] = measure.Direction(better)
		}
	}
}

// line reads a benchmark: its name, the iterations, and pairs of a value and its unit.
func (b *bench) line(fields []string) error {
	n, err := foreign.Count(fields[1])
	if err != nil {
		return nil // a line of the program that is no result, such as the name alone
	}
	if len(fields)%2 != 0 {
		return foreign.Truncated(len(fields), len(fields)+1)
	}
	r := foreign.NewRun(b.tool)
	r.Levels["benchfmt.benchmark"] = strings.TrimPrefix(fields[0], "Benchmark")
	r.Counts["operations"] = n
	for i := 2; i < len(fields); i += 2 {
		m, factor := b.metric(fields[i+1])
		if err := r.Set(m.Name, fields[i], factor); err != nil {
			return err
		}
		r.Metrics = append(r.Metrics, m)
	}
	b.all = append(b.all, r)
	return nil
}

// metric is that of a unit. The last part of a unit may be a base unit: sec, ns or bytes as in the Go benchmark format,
// B and B/s as in an export.
func (b *bench) metric(unit string) (m measure.Metric, factor float64) {
	switch unit {
	case "ns/op":
		return measure.Metric{Name: "time/op", Unit: "s", Better: measure.LowerIsBetter}, 1e-9
	case "sec/op":
		return measure.Metric{Name: "time/op", Unit: "s", Better: measure.LowerIsBetter}, 1
	case "MB/s":
		return measure.Metric{Name: "throughput", Unit: "B/s", Better: measure.HigherIsBetter}, 1e6
	case "B/op":
		return measure.Metric{Name: "bytes/op", Unit: "B", Better: measure.LowerIsBetter}, 1
	case "allocs/op":
		return measure.Metric{Name: "allocs/op", Unit: "1", Better: measure.LowerIsBetter}, 1
	}
	m = measure.Metric{Name: unit, Unit: "1", Better: b.better[unit]}
	for suffix, of := range map[string]string{"-sec": "s", "-ns": "s", "-B/s": "B/s", "-B": "B", "-bytes": "B"} {
		if name, ok := strings.CutSuffix(unit, suffix); ok && name != "" {
			m.Name, m.Unit = name, of
		}
	}
	if m.Unit == "s" && strings.HasSuffix(unit, "-ns") {
		return m, 1e-9
	}
	return m, 1
}
