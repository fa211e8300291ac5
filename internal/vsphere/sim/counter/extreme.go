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

// withExtremes adds minimum and maximum to each counter that is a mean. vCenter computes them
// from samples of 20 s when it aggregates.
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

// extreme reports whether a counter is a minimum or a maximum.
func (w *row) extreme() bool { return w.rollup == minimum || w.rollup == maximum }

// mostFine is the maximum number of samples of 20 s that are computed at once.
const mostFine = 100_000

// extremes computes the requested minima and maxima of queries in intervals.
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

// extend includes a sample in the extremes of an interval.
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
