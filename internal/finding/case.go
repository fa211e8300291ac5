package finding

import (
	"cmp"
	"math"
	"slices"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/study"
)

// Case is all that a judgement rests on.
type Case struct {
	Plan    *plan.Plan
	Study   *study.Study
	Metrics []measure.Metric // of the workload
	Rate    string           // name of its operation rate, such as "iops"
	Sources []measure.Metric // counters, each with unit and direction
	Records []measure.Record // in any order, void ones included

	Demands  map[int]load.Demand    // by arm
	Disks    bool                   // the workload itself drives disks
	Defaults map[string]string      // settings of the workload that the study leaves open, by parameter
	Series   map[int]measure.Series // curves by number of the trial, where they were read; may be nil
	Rules    []Rule                 // nil: Rules()

	view *view
}

// view is a case arranged for judging: records in order, blocks numbered densely.
type view struct {
	records []measure.Record // all, in order of execution
	valid   []measure.Record
	arms    int
	block   []int   // of each valid record: index of its block
	of      [][]int // valid records of each arm, by index
	blocks  []blockKey
	columns []column
	// position is, by arm and block, where in the order of execution the arm ran.
	position [][]float64
	byName   map[string]int // into columns
	// headlines and exploratory are the comparisons, for the rules.
	headlines, exploratory []Comparison
	families               []Family
}

// blockKey names a block. Blocks of a pilot are blocks of their own.
type blockKey struct {
	phase string
	block int
}

// column is one metric over the valid records.
type column struct {
	metric   measure.Metric
	values   []float64 // NaN where the record has none
	origin   origin
	positive bool // all values are above 0
}

// origin says what a column was made from.
type origin int

const (
	ofWorkload origin = iota
	ofHost
	derived
)

// arrange prepares the case for judging; a second call does nothing.
func (c *Case) arrange() *view {
	if c.view != nil {
		return c.view
	}
	v := &view{byName: map[string]int{}, arms: len(c.Plan.Arms), of: make([][]int, len(c.Plan.Arms))}
	v.records = slices.Clone(c.Records)
	slices.SortStableFunc(v.records, func(a, b measure.Record) int {
		return cmp.Or(cmp.Compare(a.Trial, b.Trial), cmp.Compare(a.Block, b.Block), cmp.Compare(a.Arm, b.Arm))
	})
	keys := map[blockKey]int{}
	for _, r := range v.records {
		if !r.Valid() || r.Arm < 0 || r.Arm >= v.arms {
			continue
		}
		k := blockKey{r.Phase, r.Block}
		at, known := keys[k]
		if !known {
			at = len(v.blocks)
			keys[k] = at
			v.blocks = append(v.blocks, k)
		}
		v.of[r.Arm] = append(v.of[r.Arm], len(v.valid))
		v.valid = append(v.valid, r)
		v.block = append(v.block, at)
	}
	v.fill(c)
	numbers := column{values: make([]float64, len(v.valid))}
	for i := range v.valid {
		numbers.values[i] = float64(v.valid[i].Trial)
	}
	v.position = v.cells(&numbers, func(x float64) float64 { return x })
	c.view = v
	return v
}

// fill makes the columns, in the order metrics, counters, derived ones.
func (v *view) fill(c *Case) {
	for _, m := range c.Metrics {
		v.add(m, ofWorkload, func(r *measure.Record) (float64, bool) { x, ok := r.Values[m.Name]; return x, ok })
	}
	for _, m := range c.Sources {
		v.add(m, ofHost, func(r *measure.Record) (float64, bool) { x, ok := r.Counters[m.Name]; return x, ok })
	}
	for _, name := range v.unlisted() {
		v.add(measure.Metric{Name: name, Unit: "1"}, ofHost, func(r *measure.Record) (float64, bool) { return raw(r, name) })
	}
	for _, d := range derivations(c) {
		v.add(d.Metric, derived, d.value)
	}
}

// unlisted names what records hold beyond the metrics and counters that are
// declared, such as what a simulated platform plants.
func (v *view) unlisted() []string {
	found := map[string]bool{}
	for i := range v.valid {
		for _, values := range []map[string]float64{v.valid[i].Values, v.valid[i].Counters} {
			for name := range values {
				if _, known := v.byName[name]; !known {
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
func (v *view) add(m measure.Metric, o origin, value func(*measure.Record) (float64, bool)) {
	if _, taken := v.byName[m.Name]; taken {
		return
	}
	col := column{metric: m, values: make([]float64, len(v.valid)), origin: o, positive: true}
	found := false
	for i := range v.valid {
		x, ok := value(&v.valid[i])
		if !ok || math.IsNaN(x) || math.IsInf(x, 0) {
			col.values[i] = math.NaN()
			continue
		}
		found = true
		col.values[i] = x
		col.positive = col.positive && x > 0
	}
	if found {
		v.byName[m.Name] = len(v.columns)
		v.columns = append(v.columns, col)
	}
}

// sample returns the values of an arm, with the block and the number of the trial
// of each, in order of execution.
func (v *view) sample(col *column, arm int) (values []float64, blocks, trials []int) {
	values, blocks, trials = make([]float64, 0, len(v.of[arm])), make([]int, 0, len(v.of[arm])), make([]int, 0, len(v.of[arm]))
	for _, i := range v.of[arm] {
		if x := col.values[i]; !math.IsNaN(x) {
			values, blocks, trials = append(values, x), append(blocks, v.valid[i].Block), append(trials, v.valid[i].Trial)
		}
	}
	return values, blocks, trials
}

// cells returns the mean of scale(value) for each arm and block, and NaN where
// the arm has no value in the block. An arm that ran twice counts once.
func (v *view) cells(col *column, scale func(float64) float64) [][]float64 {
	sums := make([][]float64, v.arms)
	counts := make([][]int, v.arms)
	for arm := range sums {
		sums[arm] = make([]float64, len(v.blocks))
		counts[arm] = make([]int, len(v.blocks))
	}
	for i, x := range col.values {
		if !math.IsNaN(x) {
			arm, b := v.valid[i].Arm, v.block[i]
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

// differences pairs an arm with the baseline over the blocks that hold both.
func differences(cells [][]float64, arm int) []float64 {
	var d []float64
	for b, x := range cells[arm] {
		if y := cells[0][b]; !math.IsNaN(x) && !math.IsNaN(y) {
			d = append(d, x-y)
		}
	}
	return d
}

// Mean is the mean of a metric or counter over the valid trials of an arm, in its
// unit.
func (c *Case) Mean(arm int, name string) (float64, bool) {
	v := c.arrange()
	at, ok := v.byName[name]
	if !ok {
		return 0, false
	}
	values, _, _ := v.sample(&v.columns[at], arm)
	if len(values) == 0 {
		return 0, false
	}
	var sum float64
	for _, x := range values {
		sum += x
	}
	return sum / float64(len(values)), true
}

// Setting is the value of a workload parameter in an arm: its level, else what
// the study sets, else the default.
func (c *Case) Setting(arm int, parameter string) (string, bool) {
	for _, f := range c.Study.Factors {
		if f.Parameter != parameter {
			continue
		}
		if level, ok := c.Plan.Arms[arm].Levels[f.FullName()]; ok {
			return level, true
		}
	}
	if s, ok := c.Study.Workload.Settings[parameter]; ok {
		return s, true
	}
	s, ok := c.Defaults[parameter]
	return s, ok
}
