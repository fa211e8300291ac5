package exchange

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/measure"
)

// family is a metric family of OpenMetrics: a gauge with the values of the trials.
type family struct {
	name, unit, help string
	samples          [][]string // lines of each set of labels, in order of time
}

// unitNames are the ends of names by base unit, as Prometheus has them.
var unitNames = map[string]string{"s": "seconds", "B": "bytes", "1/s": "per_second", "B/s": "bytes_per_second"}

// writeOpenMetrics writes the values of the valid trials as gauges in the text format of OpenMetrics 1.0, each with the time at which its
// trial ended. Arms are labels and trials are samples. Trials without a time are left out.
func writeOpenMetrics(w io.Writer, run Run) error {
	var b strings.Builder
	records := slices.DeleteFunc(slices.Clone(run.Records), func(r measure.Record) bool { return !r.Valid() || r.End.IsZero() })
	slices.SortStableFunc(records, func(x, y measure.Record) int { return x.End.Compare(y.End) })
	for _, f := range run.families(records) {
		fmt.Fprintf(&b, "# TYPE %s gauge\n", f.name)
		if f.unit != "" {
			fmt.Fprintf(&b, "# UNIT %s %s\n", f.name, f.unit)
		}
		if f.help != "" {
			fmt.Fprintf(&b, "# HELP %s %s\n", f.name, quoted.Replace(strings.ToValidUTF8(f.help, "\uFFFD")))
		}
		for _, lines := range f.samples {
			for _, line := range lines {
				b.WriteString(line)
			}
		}
	}
	if n := len(records); n > 0 {
		fmt.Fprintf(&b, "# TYPE plimsoll_run info\n# HELP plimsoll_run Run of a study.\nplimsoll_run_info{%s} 1 %s\n",
			labelsOf("study", run.Study, "run", run.Name, "workload", run.Workload, "seed", strconv.FormatUint(run.Design.Seed, 10)), seconds(records[n-1].End.UnixMilli()))
	}
	b.WriteString("# EOF\n")
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write OpenMetrics: %w", err)
	}
	return nil
}

// families are the families of records in order of time.
func (r Run) families(records []measure.Record) []*family {
	var all []*family
	byName, places := map[string]*family{}, map[string]int{} // place of a set of labels in its family
	latest := map[string]int64{}                             // time of its last sample, in milliseconds
	for i := range records {
		record := &records[i]
		for metric, value := range r.values(record) {
			name, unit := familyOf(metric)
			f := byName[name]
			if f == nil {
				f = &family{name: name, unit: unit, help: metric.Doc}
				byName[name], all = f, append(all, f)
			}
			key := name + "{" + labelsOf("study", r.Study, "run", r.Name, "arm", r.label(record.Arm), "metric", metric.Name) + "}"
			at, known := places[key]
			if !known {
				at = len(f.samples)
				places[key] = at
				f.samples = append(f.samples, nil)
			}
			ms := record.End.UnixMilli()
			if known {
				ms = max(ms, latest[key]+1) // a sample is later than the one before it
			}
			latest[key] = ms
			f.samples[at] = append(f.samples[at], key+" "+strconv.FormatFloat(value, 'g', -1, 64)+" "+seconds(ms)+"\n")
		}
	}
	return all
}

// familyOf is the name of a metric's family and its unit. Names that differ only in characters that OpenMetrics does not allow share a
// family, in which the label metric tells them apart.
func familyOf(m measure.Metric) (name, unit string) {
	name = "plimsoll_trial_" + strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			return c
		}
		return '_'
	}, m.Name)
	if unit = unitNames[m.Unit]; unit != "" {
		name += "_" + unit
	}
	return name, unit
}

var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// labelsOf are names and values, in pairs.
func labelsOf(pairs ...string) string {
	var all []string
	for i := 0; i+1 < len(pairs); i += 2 {
		all = append(all, pairs[i]+`="`+quoted.Replace(strings.ToValidUTF8(pairs[i+1], "\uFFFD"))+`"`)
	}
	return strings.Join(all, ",")
}

// seconds is a time in milliseconds as OpenMetrics writes it.
func seconds(ms int64) string {
	return strconv.FormatFloat(float64(ms)/float64(time.Second/time.Millisecond), 'f', 3, 64)
}
