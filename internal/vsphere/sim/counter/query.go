package counter

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/load"
)

// mostSamples is the maximum number of samples of an object per call.
const mostSamples = 20_000

// QueryPerf returns samples of objects, the oldest first.
func (m *manager) QueryPerf(ctx *simulator.Context, r *types.QueryPerf) soap.HasFault {
	queries, fault := m.room.plan(r.QuerySpec)
	if fault != nil {
		return &methods.QueryPerfBody{Fault_: fault}
	}
	m.room.compute(ctx, queries)
	body := &methods.QueryPerfBody{Res: new(types.QueryPerfResponse)}
	for _, q := range queries {
		body.Res.Returnval = append(body.Res.Returnval, q.answer())
	}
	return body
}

// QueryPerfComposite returns samples of a host and of its VMs.
func (m *manager) QueryPerfComposite(ctx *simulator.Context, r *types.QueryPerfComposite) soap.HasFault {
	specs := []types.PerfQuerySpec{r.QuerySpec}
	if fault := m.room.missing(r.QuerySpec.Entity); fault != nil {
		return &methods.QueryPerfCompositeBody{Fault_: fault}
	}
	h, ok := m.room.reg.Get(r.QuerySpec.Entity).(*simulator.HostSystem)
	if !ok {
		return &methods.QueryPerfCompositeBody{Fault_: simulator.Fault("a composite is of a host", &types.InvalidArgument{InvalidProperty: "querySpec.entity"})}
	}
	ctx.WithLock(h, func() {
		for _, vm := range h.Vm {
			spec := r.QuerySpec
			spec.Entity = vm
			specs = append(specs, spec)
		}
	})
	queries, fault := m.room.plan(specs)
	if fault != nil {
		return &methods.QueryPerfCompositeBody{Fault_: fault}
	}
	m.room.compute(ctx, queries)
	is := types.PerfCompositeMetric{Entity: queries[0].answer()}
	for _, q := range queries[1:] {
		is.ChildEntity = append(is.ChildEntity, q.answer())
	}
	return &methods.QueryPerfCompositeBody{Res: &types.QueryPerfCompositeResponse{Returnval: is}}
}

// query is the query of an object, and its result.
type query struct {
	spec    types.PerfQuerySpec
	kind    kinds
	metrics []types.PerfMetricId
	rows    []*row
	grid    load.Grid
	series  load.Series
	up      []time.Duration // by interval, of a VM
	ends    [][]float64     // of minima and maxima, by row and interval
}

// plan validates queries.
func (r *Room) plan(specs []types.PerfQuerySpec) (list []*query, fault *soap.Fault) {
	now := r.clock.Now()
	for i := range specs {
		q := &query{spec: specs[i], kind: kindOf[specs[i].Entity.Type]}
		if fault := r.missing(q.spec.Entity); fault != nil {
			return nil, fault
		}
		if fault := r.span(q, now); fault != nil {
			return nil, fault
		}
		if fault := r.choose(q); fault != nil {
			return nil, fault
		}
		list = append(list, q)
	}
	return list, nil
}

// choose finds the counters of a query. Those that the object lacks are skipped.
func (r *Room) choose(q *query) *soap.Fault {
	asked, past := q.spec.MetricId, q.grid.Step > realtime*time.Second
	if len(asked) == 0 {
		asked = r.metrics(q.kind, past)
	}
	for _, id := range asked {
		if !r.known[id.CounterId] {
			return simulator.Fault(fmt.Sprintf("there is no counter %d", id.CounterId), &types.InvalidArgument{InvalidProperty: "querySpec.metricId"})
		}
		w := r.row(id.CounterId, q.kind)
		if w == nil || w.extreme() && !past || id.Instance != "" && id.Instance != "*" {
			continue
		}
		q.metrics, q.rows = append(q.metrics, types.PerfMetricId{CounterId: id.CounterId}), append(q.rows, w)
	}
	return nil
}

// span finds the intervals of a query: complete, ended, and still retained.
func (r *Room) span(q *query, now time.Time) *soap.Fault {
	wrong := func(property, why string) *soap.Fault {
		return simulator.Fault(why, &types.InvalidArgument{InvalidProperty: "querySpec." + property})
	}
	step := time.Duration(q.spec.IntervalId) * time.Second
	kept := recent
	switch {
	case step == 0 && q.kind.lives():
		step = realtime * time.Second
	case step == 0:
		step = historical * time.Second
	}
	if step != realtime*time.Second {
		kept = 0
		for _, is := range intervals() {
			if is.SamplingPeriod == int32(step/time.Second) {
				kept = time.Duration(is.Length) * time.Second
			}
		}
	}
	if kept == 0 || step == realtime*time.Second && !q.kind.lives() {
		return wrong("intervalId", fmt.Sprintf("a %s has no samples of %d s", q.spec.Entity.Type, q.spec.IntervalId))
	}
	from, to := now.Add(-kept), now
	if since := r.load.Since(); since.After(from) {
		from = since
	}
	if q.spec.StartTime != nil && q.spec.StartTime.After(from) {
		from = *q.spec.StartTime
	}
	if q.spec.EndTime != nil && q.spec.EndTime.Before(to) {
		to = *q.spec.EndTime
	}
	if q.spec.StartTime != nil && q.spec.EndTime != nil && q.spec.EndTime.Before(*q.spec.StartTime) {
		return wrong("endTime", "the end is before the start")
	}
	// The sample at a time is that of the interval before it. The sample at the start itself
	// is not requested.
	first, last := from.Truncate(step), to.Truncate(step)
	if q.spec.StartTime == nil && first.Before(from) {
		first = first.Add(step)
	}
	n := int64(max(0, last.Sub(first)) / step)
	most := int64(mostSamples)
	if q.spec.MaxSample > 0 && step == realtime*time.Second {
		most = int64(q.spec.MaxSample)
	}
	n = min(n, most)
	q.grid = load.Grid{Start: last.Add(-time.Duration(n) * step), Step: step, N: int(n)}
	return nil
}

// compute computes the usage for queries. Those of the same intervals are computed together.
func (r *Room) compute(ctx *simulator.Context, list []*query) {
	by := map[load.Grid][]*query{}
	for _, q := range list {
		if q.kind != 0 && q.grid.N > 0 && len(q.rows) > 0 {
			by[q.grid] = append(by[q.grid], q)
		}
	}
	for g, of := range by {
		refs := make([]reference, len(of))
		for i, q := range of {
			refs[i] = q.spec.Entity
		}
		for i, s := range r.load.Series(ctx, g, refs) {
			of[i].series = s
			if of[i].kind == vm {
				of[i].up = r.load.Up(refs[i], g)
			}
		}
		r.extremes(ctx, g, of)
	}
}

// answer is the samples of a query. A VM has none for intervals in which it did not run.
func (q *query) answer() types.BasePerfEntityMetricBase {
	is := types.PerfEntityMetric{PerfEntityMetricBase: types.PerfEntityMetricBase{Entity: q.spec.Entity}}
	values := make([][]int64, len(q.rows))
	for k := range q.series.Usage {
		u := &q.series.Usage[k]
		s := sample{Usage: u, host: &q.series.Capacity, interval: q.grid.Step}
		if q.kind == vm {
			if u.On == 0 {
				continue
			}
			s.up = q.up[k]
		}
		is.SampleInfo = append(is.SampleInfo, types.PerfSampleInfo{
			Timestamp: q.grid.Start.Add(time.Duration(k+1) * q.grid.Step).UTC(), Interval: int32(q.grid.Step / time.Second),
		})
		for i, w := range q.rows {
			is := 0.0
			if w.extreme() {
				is = q.ends[i][k]
			} else {
				is = w.value(s)
			}
			values[i] = append(values[i], int64(math.Round(is)))
		}
	}
	if q.spec.Format == string(types.PerfFormatCsv) {
		return q.csv(&is, values)
	}
	for i := range q.rows {
		is.Value = append(is.Value, SeriesOf(q.metrics[i], values[i]))
	}
	return &is
}

// SeriesOf is the values of a counter. The name of the type is that in XML; govmomi's own
// omits values of 0.
func SeriesOf(of types.PerfMetricId, values []int64) types.BasePerfMetricSeries {
	type PerfMetricIntSeries struct {
		types.PerfMetricSeries
		Value []int64 `xml:"value" json:"value"`
	}
	return &PerfMetricIntSeries{types.PerfMetricSeries{Id: of}, values}
}

// csv is an answer in CSV format.
func (q *query) csv(of *types.PerfEntityMetric, values [][]int64) types.BasePerfEntityMetricBase {
	is := types.PerfEntityMetricCSV{PerfEntityMetricBase: of.PerfEntityMetricBase}
	var info []string
	for _, s := range of.SampleInfo {
		info = append(info, strconv.Itoa(int(s.Interval)), s.Timestamp.Format(time.RFC3339))
	}
	is.SampleInfoCSV = strings.Join(info, ",")
	for i := range q.rows {
		var text []string
		for _, v := range values[i] {
			text = append(text, strconv.FormatInt(v, 10))
		}
		is.Value = append(is.Value, types.PerfMetricSeriesCSV{PerfMetricSeries: types.PerfMetricSeries{Id: q.metrics[i]}, Value: strings.Join(text, ",")})
	}
	return &is
}
