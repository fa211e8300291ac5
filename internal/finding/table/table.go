// Package table arranges the records of a study for the analysis: valid trials as rows,
// metrics and counters as columns, blocks numbered densely.
package table

import (
	"cmp"
	"math"
	"slices"

	"plimsoll/internal/hoststat/trace"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/study"
)

// Case is the input of the analysis.
type Case struct {
	Plan    *plan.Plan
	Study   *study.Study
	Metrics []measure.Metric // of the workload
	Rate    string           // name of its operation rate, such as "iops"
	Sources []measure.Metric // counters, with unit and direction
	Records []measure.Record // in any order, including void ones

	Demands  map[int]load.Demand     // by arm
	Disks    bool                    // the workload itself uses disks
	Clocked  bool                    // it reads the counters of a system with a clock of its own
	Defaults map[string]string       // default settings of the workload, by name
	Series   map[int]measure.Series  // time series by number of the trial, if read; may be nil
	Hosts    map[int][]*trace.Detail // states of the machines by number of the trial, if recorded and read; may be nil
}

// Table is a case in columns. It is immutable.
type Table struct {
	Case    // with its records in order of execution
	Valid   []measure.Record
	Arms    int
	Block   []int   // block index of each valid record
	Of      [][]int // valid records of each arm, by index
	Blocks  []BlockKey
	Columns []Column
	// Position is the position in the order of execution, by arm and block.
	Position [][]float64
	byName   map[string]int // index into Columns
}

// BlockKey identifies a block. Pilot blocks are separate.
type BlockKey struct {
	Phase  string
	Number int
}

// Column is one metric over the valid records.
type Column struct {
	Metric   measure.Metric
	Values   []float64 // NaN if missing
	Origin   Origin
	Positive bool // all values are positive
}

// Origin is the source of a column.
type Origin int

// The origins.
const (
	Workload Origin = iota
	Host
	Derived
)

// New arranges a case.
func New(c Case) *Table {
	t := &Table{Case: c, byName: map[string]int{}, Arms: len(c.Plan.Arms), Of: make([][]int, len(c.Plan.Arms))}
	t.Records = slices.Clone(c.Records)
	slices.SortStableFunc(t.Records, func(a, b measure.Record) int {
		return cmp.Or(cmp.Compare(a.Trial, b.Trial), cmp.Compare(a.Block, b.Block), cmp.Compare(a.Arm, b.Arm))
	})
	keys := map[BlockKey]int{}
	for _, r := range t.Records {
		if !r.Valid() || r.Arm < 0 || r.Arm >= t.Arms {
			continue
		}
		k := BlockKey{r.Phase, r.Block}
		at, known := keys[k]
		if !known {
			at = len(t.Blocks)
			keys[k] = at
			t.Blocks = append(t.Blocks, k)
		}
		t.Of[r.Arm] = append(t.Of[r.Arm], len(t.Valid))
		t.Valid = append(t.Valid, r)
		t.Block = append(t.Block, at)
	}
	t.fill()
	numbers := Column{Values: make([]float64, len(t.Valid))}
	for i := range t.Valid {
		numbers.Values[i] = float64(t.Valid[i].Trial)
	}
	t.Position = t.Cells(&numbers, func(x float64) float64 { return x })
	return t
}

// fill adds the columns: metrics, counters, derived metrics.
func (t *Table) fill() {
	for _, m := range t.Metrics {
		t.add(m, Workload, func(r *measure.Record) (float64, bool) { x, ok := r.Values[m.Name]; return x, ok })
	}
	for _, m := range t.Sources {
		t.add(m, Host, func(r *measure.Record) (float64, bool) { x, ok := r.Counters[m.Name]; return x, ok })
	}
	for _, name := range t.unlisted() {
		t.add(measure.Metric{Name: name, Unit: "1"}, Host, func(r *measure.Record) (float64, bool) { return raw(r, name) })
	}
	for _, d := range t.derivations() {
		t.add(d.Metric, Derived, d.value)
	}
}

// unlisted names the values of records beyond the declared metrics and counters, such as those
// of a simulated platform.
func (t *Table) unlisted() []string {
	found := map[string]bool{}
	for i := range t.Valid {
		for _, values := range []map[string]float64{t.Valid[i].Values, t.Valid[i].Counters} {
			for name := range values {
				if _, known := t.byName[name]; !known {
					found[name] = true
				}
			}
		}
	}
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// add appends a column, unless no record has the metric or the name is taken.
func (t *Table) add(m measure.Metric, o Origin, value func(*measure.Record) (float64, bool)) {
	if _, taken := t.byName[m.Name]; taken {
		return
	}
	col := Column{Metric: m, Values: make([]float64, len(t.Valid)), Origin: o, Positive: true}
	found := false
	for i := range t.Valid {
		x, ok := value(&t.Valid[i])
		if !ok || math.IsNaN(x) || math.IsInf(x, 0) {
			col.Values[i] = math.NaN()
			continue
		}
		found = true
		col.Values[i] = x
		col.Positive = col.Positive && x > 0
	}
	if found {
		t.byName[m.Name] = len(t.Columns)
		t.Columns = append(t.Columns, col)
	}
}

// Sample returns the values of an arm, with block and trial number of each, in order of
// execution.
func (t *Table) Sample(col *Column, arm int) (values []float64, blocks, trials []int) {
	values, blocks, trials = make([]float64, 0, len(t.Of[arm])), make([]int, 0, len(t.Of[arm])), make([]int, 0, len(t.Of[arm]))
	for _, i := range t.Of[arm] {
		if x := col.Values[i]; !math.IsNaN(x) {
			values, blocks, trials = append(values, x), append(blocks, t.Valid[i].Block), append(trials, t.Valid[i].Trial)
		}
	}
	return values, blocks, trials
}

// Cells returns the mean of scale(value) by arm and block, NaN without a value. Two trials of
// an arm in a block are averaged.
func (t *Table) Cells(col *Column, scale func(float64) float64) [][]float64 {
	sums := make([][]float64, t.Arms)
	counts := make([][]int, t.Arms)
	for arm := range sums {
		sums[arm] = make([]float64, len(t.Blocks))
		counts[arm] = make([]int, len(t.Blocks))
	}
	for i, x := range col.Values {
		if !math.IsNaN(x) {
			arm, b := t.Valid[i].Arm, t.Block[i]
			sums[arm][b] += scale(x)
			counts[arm][b]++
		}
	}
	for arm := range sums {
		for b, n := range counts[arm] {
			if n == 0 {
				sums[arm][b] = math.NaN()
			} else {
				sums[arm][b] /= float64(n)
			}
		}
	}
	return sums
}

// Differences pairs an arm with the baseline in the blocks that have both.
func Differences(cells [][]float64, arm int) []float64 {
	var d []float64
	for b, x := range cells[arm] {
		if y := cells[0][b]; !math.IsNaN(x) && !math.IsNaN(y) {
			d = append(d, x-y)
		}
	}
	return d
}

// Column is the column of a metric or counter; nil if no valid record has it.
func (t *Table) Column(name string) *Column {
	if at, ok := t.byName[name]; ok {
		return &t.Columns[at]
	}
	return nil
}

// Mean is the mean of a metric or counter over the valid trials of an arm, in its
// unit.
func (t *Table) Mean(arm int, name string) (float64, bool) {
	col := t.Column(name)
	if col == nil {
		return 0, false
	}
	values, _, _ := t.Sample(col, arm)
	if len(values) == 0 {
		return 0, false
	}
	var sum float64
	for _, x := range values {
		sum += x
	}
	return sum / float64(len(values)), true
}

// MeanOfAll is the mean over all trials of an arm that have the value, including void ones:
// the condition that a rule looks for often voids the trial.
func (t *Table) MeanOfAll(arm int, name string) (mean float64, ok bool) {
	var sum float64
	n := 0
	for i := range t.Records {
		r := &t.Records[i]
		if r.Arm != arm {
			continue
		}
		if x, ok := raw(r, name); ok {
			sum += x
			n++
		}
	}
	return sum / float64(max(1, n)), n > 0
}

// Seen reports whether any trial of the case, void ones included, has the metric.
func (t *Table) Seen(name string) bool {
	return t.Column(name) != nil || slices.ContainsFunc(t.Records, func(r measure.Record) bool { _, ok := raw(&r, name); return ok })
}

// raw is a metric or counter of a record.
func raw(r *measure.Record, name string) (float64, bool) {
	if x, ok := r.Values[name]; ok {
		return x, true
	}
	x, ok := r.Counters[name]
	return x, ok
}
