package exchange

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/exposition"
	"plimsoll/internal/measure"
)

// unitNames are the ends of names by base unit, as Prometheus has them.
var unitNames = map[string]string{"s": "seconds", "B": "bytes", "1/s": "per_second", "B/s": "bytes_per_second"}

// writeOpenMetrics writes the values of the valid trials in the text format of OpenMetrics 1.0, and what is known of the run.
func writeOpenMetrics(w io.Writer, run Run) error {
	families := Families(run)
	if n := len(run.timed()); n > 0 {
		info := exposition.Family{Name: "plimsoll_run", Type: exposition.Info, Help: "Run of a study."}
		info.Samples = []exposition.Sample{{
			Labels: []string{"study", run.Study, "run", run.Name, "workload", run.Workload, "seed", strconv.FormatUint(run.Design.Seed, 10)}, Value: 1, Time: run.timed()[n-1].End,
		}}
		families = append(families, info)
	}
	return exposition.Write(w, families, true)
}

// timed are the valid trials that have a time, in its order.
func (r Run) timed() []measure.Record {
	records := slices.DeleteFunc(slices.Clone(r.Records), func(r measure.Record) bool { return !r.Valid() || r.End.IsZero() })
	slices.SortStableFunc(records, func(x, y measure.Record) int { return x.End.Compare(y.End) })
	return records
}

// Families are the values of the valid trials as gauges, each with the time at which its trial ended, to the millisecond. Arms are labels and
// trials are samples. Trials without a time are left out.
func Families(r Run) (all []exposition.Family) {
	records := r.timed()
	byName, series := map[string]int{}, [][][]exposition.Sample{} // series of each family, one for each set of labels
	type key struct{ family, arm, metric string }
	places := map[key]int{} // of a set of labels in its family
	for i := range records {
		record := &records[i]
		for metric, value := range r.values(record) {
			name, unit := familyOf(metric)
			f, known := byName[name]
			if !known {
				f = len(all)
				byName[name], all, series = f, append(all, exposition.Family{Name: name, Unit: unit, Type: exposition.Gauge, Help: metric.Doc}), append(series, nil)
			}
			k := key{name, r.label(record.Arm), metric.Name}
			at, known := places[k]
			if !known {
				at = len(series[f])
				places[k], series[f] = at, append(series[f], nil)
			}
			s := exposition.Sample{Labels: []string{"study", r.Study, "run", r.Name, "arm", k.arm, "metric", k.metric}, Value: value, Time: record.End.Truncate(time.Millisecond)}
			if before := series[f][at]; len(before) > 0 { // a sample is later than the one before it
				if least := before[len(before)-1].Time.Add(time.Millisecond); s.Time.Before(least) {
					s.Time = least
				}
			}
			series[f][at] = append(series[f][at], s)
		}
	}
	for f := range all {
		all[f].Samples = slices.Concat(series[f]...)
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
