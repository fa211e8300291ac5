package counter

import (
	"math"
	"slices"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/load"
)

const (
	minimum = types.PerfSummaryTypeMinimum
	maximum = types.PerfSummaryTypeMaximum
)

// withExtremes adds the smallest and the largest value to each counter that is a mean. vCenter makes them of the samples
// of 20 s when it sums up longer intervals.
func withExtremes(rows []row) []row {
	all := slices.Clone(rows)
	for _, w := range rows {
		if w.rollup != average {
			continue
		}
		for _, w.rollup = range []types.PerfSummaryType{minimum, maximum} {
			all = append(all, w)
		}
	}
	return all
}

// extreme reports whether a counter is the smallest or the largest value.
func (w *row) extreme() bool { return w.rollup == minimum || w.rollup == maximum }

// mostFine bounds the samples of 20 s that are computed at once.
const mostFine = 100_000

// extremes fills in the smallest and largest values of queries in intervals, as far as they are asked for.
func (r *Room) extremes(ctx *simulator.Context, g load.Grid, list []*query) {
	list = slices.DeleteFunc(slices.Clone(list), func(q *query) bool { return !slices.ContainsFunc(q.rows, (*row).extreme) })
	if len(list) == 0 {
		return
	}
	refs := make([]reference, len(list))
	for i, q := range list {
		refs[i], q.ends = q.spec.Entity, make([][]float64, len(q.rows))
		for k, w := range q.rows {
			if w.extreme() {
				q.ends[k] = slices.Repeat([]float64{math.NaN()}, g.N)
			}
		}
	}
	fine := int(g.Step / (realtime * time.Second)) // in an interval
	most := max(1, mostFine/fine/len(list))
	for from := 0; from < g.N; from += most {
		n := min(most, g.N-from)
		part := load.Grid{Start: g.Start.Add(time.Duration(from) * g.Step), Step: realtime * time.Second, N: n * fine}
		for i, s := range r.load.Series(ctx, part, refs) {
			for k := range s.Usage {
				list[i].extend(from+k/fine, sample{Usage: &s.Usage[k], host: &s.Capacity, interval: part.Step})
			}
		}
	}
}

// extend has the extremes of an interval include a sample.
func (q *query) extend(at int, s sample) {
	if q.kind == vm && s.On == 0 {
		return
	}
	for i, w := range q.rows {
		if !w.extreme() {
			continue
		}
		is := &q.ends[i][at]
		if v := w.value(s); math.IsNaN(*is) || w.rollup == minimum && v < *is || w.rollup == maximum && v > *is {
			*is = v
		}
	}
}
