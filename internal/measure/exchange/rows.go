package exchange

import (
	"encoding/csv"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/escape"
	"plimsoll/internal/measure"
)

// row is one value of one trial, in long format.
type row struct {
	trial, block, slot, arm int64
	phase, label            string
	valid                   bool
	void                    string // why the trial does not count
	metric, unit            string
	value                   *float64
	better                  string // higher or lower; empty where neither is
	headline                bool
}

// column is a column of the long format. A cell is an int64, a string, a bool, a
// float64, or a *float64 that may be nil.
type column struct {
	name string
	cell func(*row) any
}

// columns are those of the long format. The design is the same in all rows.
func (r *Run) columns() []column {
	d := &r.Design
	design := func(name string, v any) column { return column{name, func(*row) any { return v }} }
	return []column{
		{"trial", func(o *row) any { return o.trial }},
		{"phase", func(o *row) any { return o.phase }},
		{"block", func(o *row) any { return o.block }},
		{"slot", func(o *row) any { return o.slot }},
		{"arm", func(o *row) any { return o.arm }},
		{"label", func(o *row) any { return o.label }},
		{"valid", func(o *row) any { return o.valid }},
		{"void", func(o *row) any { return o.void }},
		{"metric", func(o *row) any { return o.metric }},
		{"unit", func(o *row) any { return o.unit }},
		{"value", func(o *row) any { return o.value }},
		{"better", func(o *row) any { return o.better }},
		{"headline", func(o *row) any { return o.headline }},
		design("study", r.Study),
		design("seed", strconv.FormatUint(d.Seed, 10)), // text, since few tools support uint64
		design("margin", d.Margin),
		design("level", d.Level),
		design("error", d.Error),
		design("looks", d.looks()), // separated by spaces
		design("least", int64(d.Least)),
		design("pilot", int64(d.Pilot)),
	}
}

// rows yields a row per value and counter of each trial: the run's metrics in their order,
// then others by name, without a unit, then the counts of operations as "counts.NAME". A trial
// without any yields one row without a metric.
func (r Run) rows() iter.Seq[row] {
	return func(yield func(row) bool) {
		for i := range r.Records {
			record := &r.Records[i]
			one := row{
				trial: int64(record.Trial), phase: record.Phase, block: int64(record.Block), slot: int64(record.Slot),
				arm: int64(record.Arm), label: r.label(record.Arm), valid: record.Valid(), void: record.Void,
			}
			if len(record.Values)+len(record.Counters) == 0 {
				if !yield(one) {
					return
				}
				continue
			}
			for metric, value := range r.values(record) {
				one.metric, one.unit, one.value = metric.Name, metric.Unit, &value
				one.better, one.headline = string(metric.Better), slices.Contains(r.Design.Headlines, metric.Name)
				if !yield(one) {
					return
				}
			}
		}
	}
}

func (d *Design) looks() string {
	var looks []string
	for _, n := range d.Looks {
		looks = append(looks, strconv.Itoa(n))
	}
	return strings.Join(looks, " ")
}

// values yields the values and counters of a record. A value hides a counter of the same name.
func (r Run) values(record *measure.Record) iter.Seq2[measure.Metric, float64] {
	all := map[string]float64{}
	maps.Copy(all, record.Counters)
	maps.Copy(all, record.Values)
	return func(yield func(measure.Metric, float64) bool) {
		for _, m := range r.Metrics {
			v, ok := all[m.Name]
			if !ok {
				continue
			}
			delete(all, m.Name)
			if !yield(m, v) {
				return
			}
		}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if !yield(measure.Metric{Name: name}, all[name]) {
				return
			}
		}
		for _, name := range slices.Sorted(maps.Keys(record.Counts)) {
			if !yield(measure.Metric{Name: "counts." + name, Unit: "1"}, float64(record.Counts[name])) {
				return
			}
		}
	}
}

// writeCSV writes a row per value of each trial.
func writeCSV(w io.Writer, run Run) error {
	out := csv.NewWriter(w)
	columns := run.columns()
	line := make([]string, len(columns))
	for i, c := range columns {
		line[i] = c.name
	}
	err := out.Write(line)
	for one := range run.rows() {
		if err != nil {
			break
		}
		for i, c := range columns {
			line[i] = text(c.cell(&one))
		}
		err = out.Write(line)
	}
	out.Flush()
	if err == nil {
		err = out.Error()
	}
	if err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}

// text is a cell of a CSV file. A missing value is empty.
func text(cell any) string {
	switch v := cell.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return number(v)
	case *float64:
		if v == nil {
			return ""
		}
		return number(*v)
	}
	return escape.Cell(cell.(string))
}

// number writes the shortest exact decimal, with an exponent only in place of many zeros.
func number(v float64) string {
	if size := math.Abs(v); size >= 1e-6 && size < 1e15 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
