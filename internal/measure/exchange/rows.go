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

	"github.com/parquet-go/parquet-go"

	"plimsoll/internal/escape"
	"plimsoll/internal/measure"
)

// row is one value of one trial: the long format, which data frames and
// spreadsheets pivot as they like.
type row struct {
	Trial  int64    `parquet:"trial"`
	Phase  string   `parquet:"phase,dict"`
	Block  int64    `parquet:"block"`
	Slot   int64    `parquet:"slot"`
	Arm    int64    `parquet:"arm"`
	Label  string   `parquet:"label,dict"`
	Valid  bool     `parquet:"valid"`
	Void   string   `parquet:"void,dict"` // why the trial does not count
	Metric string   `parquet:"metric,dict"`
	Unit   string   `parquet:"unit,dict"`
	Value  *float64 `parquet:"value,optional"`

	Better   string `parquet:"better,dict"` // higher or lower; empty where neither is
	Headline bool   `parquet:"headline"`

	// The design is the same in all rows.
	Study  string  `parquet:"study,dict"`
	Seed   string  `parquet:"seed,dict"` // text, since few tools have whole numbers of 64 bits without a sign
	Margin float64 `parquet:"margin"`
	Level  float64 `parquet:"level"`
	Error  float64 `parquet:"error"`
	Looks  string  `parquet:"looks,dict"` // with spaces between them
	Least  int64   `parquet:"least"`
	Pilot  int64   `parquet:"pilot"`
}

// rows yields a row for each value and counter of each trial: first those of the
// run's metrics, in their order, then others by name, which have no unit, then the
// counts of operations, as "counts.NAME". A trial
// without any yields one row without metric, so that it does not vanish.
func (r Run) rows() iter.Seq[row] {
	return func(yield func(row) bool) {
		for i := range r.Records {
			record := &r.Records[i]
			one := row{
				Trial: int64(record.Trial), Phase: record.Phase, Block: int64(record.Block), Slot: int64(record.Slot),
				Arm: int64(record.Arm), Label: r.label(record.Arm), Valid: record.Valid(), Void: record.Void,
			}
			r.Design.fill(&one)
			one.Study = r.Study
			if len(record.Values)+len(record.Counters) == 0 {
				if !yield(one) {
					return
				}
				continue
			}
			for metric, value := range r.values(record) {
				one.Metric, one.Unit, one.Value = metric.Name, metric.Unit, &value
				one.Better, one.Headline = string(metric.Better), slices.Contains(r.Design.Headlines, metric.Name)
				if !yield(one) {
					return
				}
			}
		}
	}
}

// fill writes the design into a row.
func (d *Design) fill(one *row) {
	one.Seed = strconv.FormatUint(d.Seed, 10)
	one.Margin, one.Level, one.Error, one.Least, one.Pilot = d.Margin, d.Level, d.Error, int64(d.Least), int64(d.Pilot)
	one.Looks = d.looks()
}

func (d *Design) looks() string {
	var looks []string
	for _, n := range d.Looks {
		looks = append(looks, strconv.Itoa(n))
	}
	return strings.Join(looks, " ")
}

// values yields the values and counters of a record. A name that both have is the
// workload's.
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

// WriteCSV writes a row for each value of each trial.
func WriteCSV(w io.Writer, run Run) error {
	out := csv.NewWriter(w)
	err := out.Write([]string{"trial", "phase", "block", "slot", "arm", "label", "valid", "void", "metric", "unit", "value",
		"better", "headline", "study", "seed", "margin", "level", "error", "looks", "least", "pilot"})
	for one := range run.rows() {
		if err != nil {
			break
		}
		value := ""
		if one.Value != nil {
			value = number(*one.Value)
		}
		err = out.Write([]string{
			whole(one.Trial), escape.Cell(one.Phase), whole(one.Block), whole(one.Slot), whole(one.Arm), escape.Cell(one.Label),
			strconv.FormatBool(one.Valid), escape.Cell(one.Void), escape.Cell(one.Metric), escape.Cell(one.Unit), value,
			one.Better, strconv.FormatBool(one.Headline), escape.Cell(one.Study), one.Seed, number(one.Margin), number(one.Level), number(one.Error),
			one.Looks, whole(one.Least), whole(one.Pilot),
		})
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

// WriteParquet writes the rows of WriteCSV as a Parquet table. The value is null
// where a trial has none.
func WriteParquet(w io.Writer, run Run) error {
	out := parquet.NewGenericWriter[row](w, parquet.Compression(&parquet.Zstd))
	const batch = 1024
	rows := make([]row, 0, batch)
	for one := range run.rows() {
		if rows = append(rows, one); len(rows) == batch {
			if _, err := out.Write(rows); err != nil {
				return fmt.Errorf("write Parquet: %w", err)
			}
			rows = rows[:0]
		}
	}
	if _, err := out.Write(rows); err != nil {
		return fmt.Errorf("write Parquet: %w", err)
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("write Parquet: %w", err)
	}
	return nil
}

func whole(n int64) string { return strconv.FormatInt(n, 10) }

// number writes every digit that a number has, and no more; with an exponent only
// where there would be many zeros.
func number(v float64) string {
	if size := math.Abs(v); size >= 1e-6 && size < 1e15 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
