package file

import (
	"slices"

	"plimsoll/internal/document"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/study"
	"plimsoll/internal/workload"
)

// firstRate is the default initial rate of the search for a peak.
const firstRate = 100

// LoadKeys are the keys of a load.
var LoadKeys = []Key{
	{study.RateSetting, "offered rate of an open loop, operations per second"},
	{study.ArrivalsSetting, "arrival process, if the workload has a choice: constant or poisson"},
	{study.ShapeSetting, "shape of the rate over time, if the workload has one: a ramp, steps or a sine"},
	{study.TraceSetting, "file with the due times of the operations, instead of a rate, if the workload supports it"},
	{study.RampSetting, "interval at which units of the load, such as sessions, join, if the workload supports it"},
	{"peak", "search for the highest rate within limits: {within: {p99: 20ms, errors: 0}}"},
	{"growth", "search for the largest number of servers, or of units of the load such as sessions, within limits: {within: {p95: 100ms}, to: 200}"},
}

var peakKeys = []Key{
	{"within", "upper limits: {METRIC: value}"},
	{"from", "initial rate; default 100/s"},
	{"to", "highest rate; default none"},
}

// load parses the load. A rate becomes the setting of the workload.
func (lr loadReader) load(n *document.Node, s *study.Study, kind *workload.Kind) {
	if n.Kind == document.Scalar && !n.Empty() {
		if n.Text != "closed" {
			lr.r.in.Unknown(n, "unknown load", n.Text, []string{"closed", "{rate: 5000/s}"})
		}
		return
	}
	keys := lr.r.table(n, "load", names(LoadKeys))
	if peak, ok := keys["peak"]; ok {
		if rate, both := keys[study.RateSetting]; both {
			lr.r.in.Complain(rate.key, "load: rate and peak are mutually exclusive")
			return
		}
		lr.peak(peak, s, kind)
	}
	if growth, ok := keys["growth"]; ok {
		if s.Load.Peak != nil {
			lr.r.in.Complain(growth.key, "load: peak and growth are mutually exclusive")
			return
		}
		lr.growth(growth, s, kind)
	}
	if trace, ok := keys[study.TraceSetting]; ok {
		if _, both := keys[study.RateSetting]; both {
			lr.r.in.Complain(trace.key, "load: rate and trace are mutually exclusive")
			return
		}
	}
	if ramp, ok := keys[study.RampSetting]; ok && s.Load.Growth != nil {
		lr.r.in.Complain(ramp.key, "load: ramp and growth are mutually exclusive: a growth has a steady state for each number of %s", s.Load.Growth.Units())
		return
	}
	for _, name := range []string{study.RateSetting, study.ArrivalsSetting, study.ShapeSetting, study.TraceSetting, study.RampSetting} {
		if e, ok := keys[name]; ok {
			lr.offer(e, s, kind)
		}
	}
}

// offer maps a key of the load to the workload's setting of that name.
func (lr loadReader) offer(e entry, s *study.Study, kind *workload.Kind) {
	name := e.key.Text
	if kind == nil {
		return
	}
	field, found := parameter.Find(kind.Defaults, name)
	if !found {
		lr.r.in.Complain(e.key, "load: the workload %s has no %s to set; use closed", kind.Name, name)
		return
	}
	field.Name = "load." + name
	text, ok := lr.r.value(e.value, field)
	if !ok || s.Workload.Settings[name] != text && lr.given(e.key, name, s, kind) {
		return
	}
	if s.Workload.Settings == nil {
		s.Workload.Settings = parameter.Settings{}
	}
	s.Workload.Settings[name] = text
	var rate parameter.Rate
	if name == study.RateSetting && rate.UnmarshalText([]byte(text)) == nil {
		s.Load.Rate = float64(rate)
	}
}

// given reports a setting that is set or varied elsewhere too.
func (lr loadReader) given(n *document.Node, name string, s *study.Study, kind *workload.Kind) bool {
	if given, ok := s.Workload.Settings[name]; ok {
		lr.r.in.Complain(n, "load: the %s is given twice: here and as workload.%s.%s, %s", name, kind.Name, name, given)
		return true
	}
	if slices.ContainsFunc(s.Factors, func(f study.Factor) bool { return f.Parameter == name && !f.OfService && f.Group == "" }) {
		lr.r.in.Complain(n, "load: the %s is given here and varied as %s.%s: keep one", name, kind.Name, name)
		return true
	}
	return false
}

// within parses the limits of a search.
func (lr loadReader) within(e entry, metrics []measure.Metric) (limits []study.Limit) {
	for _, limit := range lr.r.entries(e.value, "within") {
		if m, ok := aimReader(lr).metric(limit.key, limit.key.Text, metrics); ok {
			most := aimReader(lr).amount(limit.value, m)
			limits = append(limits, study.Limit{Metric: m.Name, Unit: m.Unit, Max: &most})
		}
	}
	return limits
}

// peak reads the search for a peak.
func (lr loadReader) peak(e entry, s *study.Study, kind *workload.Kind) {
	keys := lr.r.table(e.value, "load.peak", names(peakKeys))
	if kind == nil {
		return
	}
	if !hasSetting(kind.Defaults, study.RateSetting) {
		lr.r.in.Complain(e.key, "load: the workload %s has no rate, and so no peak; use closed", kind.Name)
		return
	}
	if lr.given(e.key, study.RateSetting, s, kind) {
		return
	}
	p := &study.Peak{From: firstRate}
	within, ok := keys["within"]
	if !ok {
		lr.r.in.Complain(e.key, "load: a peak requires limits, such as {peak: {within: {p99: 20ms, errors: 0}}}")
		return
	}
	p.Within = lr.within(within, kind.Metrics)
	if !slices.ContainsFunc(p.Within, func(l study.Limit) bool { _, ok := measure.QuantileOf(l.Metric); return ok }) {
		lr.r.in.Complain(within.key, "load: one limit of a peak must be on a response time, such as p99: 20ms")
	}
	for name, into := range map[string]*float64{"from": &p.From, "to": &p.To} {
		if e, ok := keys[name]; ok {
			*into = aimReader(lr).amount(e.value, measure.PeakMetric())
		}
	}
	if p.From <= 0 || p.To != 0 && p.To <= p.From {
		lr.r.in.Complain(e.key, "load: the search range from %g/s to %g/s is empty", p.From, p.To)
	}
	s.Load.Peak = p
}
