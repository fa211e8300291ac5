package file

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/document"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/study"
	"plimsoll/internal/workload"
)

// aims reads the keys that name metrics.
func (ar aimReader) aims(s *study.Study, top map[string]entry, kind *workload.Kind) {
	metrics := s.Results(ar.r.catalog)
	if sought, ok := s.Load.Sought(); ok {
		metrics = append([]measure.Metric{sought}, metrics...)
	}
	if e, ok := top["headline"]; ok {
		if len(metrics) > 0 {
			metrics = append(metrics, measure.CPUPerOperation())
		}
		s.Headline = ar.headline(e.value, metrics)
	} else if len(metrics) > 0 {
		s.Headline = []string{metrics[0].Name}
	}
	if e, ok := top["goal"]; ok {
		s.Goal = ar.goal(e.value, metrics)
	}
	if e, ok := top["tune"]; ok {
		s.Tune = tuneReader(ar).tune(e, s, kind)
	}
	if e, ok := top["limits"]; ok {
		s.Limits = ar.limits(e.value, metrics)
	}
	if e, ok := top["published"]; ok {
		s.Published = ar.published(e.value, metrics)
	}
}

// metric finds a metric by name, or adds a mistake. Without metrics the workload is unknown,
// which was reported.
func (ar aimReader) metric(n *document.Node, name string, metrics []measure.Metric) (measure.Metric, bool) {
	if len(metrics) == 0 {
		return measure.Metric{}, false
	}
	if m := find(metrics, func(m measure.Metric) bool { return m.Name == name }); m != nil {
		return *m, true
	}
	switch shared := name == measure.Fairness || name == measure.Least; {
	case shared && ar.r.misled: // they belong to a factor that has a mistake
	case slices.ContainsFunc(measure.EnergyMetrics(false), func(m measure.Metric) bool { return m.Name == name }):
		ar.r.in.Complain(n, "%s is not measured in virtual time, by a search, or per operation of tiles", name)
	case shared:
		ar.r.in.Complain(n, "%s is measured only where several servers of the service, or several machines, share the load", name)
	default:
		ar.r.in.Unknown(n, "the workload does not measure", name, namesOf(metrics, func(m measure.Metric) string { return m.Name }))
	}
	return measure.Metric{}, false
}

func (ar aimReader) headline(n *document.Node, metrics []measure.Metric) []string {
	items, ok := ar.r.list(n, "headline")
	if ok && len(items) == 0 {
		ar.r.in.Complain(n, "headline is empty; omit it for the workload's first metric")
	}
	var out []string
	for _, item := range items {
		name, ok := ar.r.scalar(item, "headline")
		if !ok {
			continue
		}
		if slices.Contains(out, name) {
			ar.r.in.Complain(item, "headline: %s is named twice", name)
			continue
		}
		if m, ok := ar.metric(item, name, metrics); ok {
			out = append(out, m.Name)
		}
	}
	return out
}

func (ar aimReader) goal(n *document.Node, metrics []measure.Metric) *study.Goal {
	keys := ar.r.table(n, "goal", []string{"most", "least", "floor"})
	most, hasMost := keys["most"]
	least, hasLeast := keys["least"]
	if hasMost == hasLeast {
		ar.r.in.Complain(n, "goal: either most or least is required, such as {most: iops}")
		return nil
	}
	e, g := most, &study.Goal{Direction: measure.HigherIsBetter}
	if hasLeast {
		e, g = least, &study.Goal{Direction: measure.LowerIsBetter}
	}
	if name, ok := ar.r.scalar(e.value, "goal"); ok {
		m, _ := ar.metric(e.value, name, metrics)
		g.Metric = m.Name
	}
	if floor, ok := keys["floor"]; ok {
		for _, e := range ar.r.entries(floor.value, "floor") {
			if m, ok := ar.metric(e.key, e.key.Text, metrics); ok {
				limit := study.Limit{Metric: m.Name, Unit: m.Unit, Min: new(ar.amount(e.value, m))}
				if m.Better == measure.LowerIsBetter {
					limit.Min, limit.Max = nil, limit.Min
				}
				g.Floor = append(g.Floor, limit)
			}
		}
	}
	return g
}

func (ar aimReader) limits(n *document.Node, metrics []measure.Metric) []study.Limit {
	var out []study.Limit
	for _, e := range ar.r.entries(n, "limits") {
		m, ok := ar.metric(e.key, e.key.Text, metrics)
		if !ok {
			continue
		}
		l := study.Limit{Metric: m.Name, Unit: m.Unit}
		bounds := ar.r.table(e.value, "limits."+m.Name, []string{"min", "max"})
		for name, b := range bounds {
			v := ar.amount(b.value, m)
			if name == "min" {
				l.Min = &v
			} else {
				l.Max = &v
			}
		}
		switch {
		case len(bounds) == 0 && e.value.Kind == document.Mapping && len(e.value.Kids) == 0, e.value.Empty():
			ar.r.in.Complain(e.key, "limits.%s: give a min or a max", m.Name)
		case l.Min != nil && l.Max != nil && *l.Min > *l.Max:
			ar.r.in.Complain(e.key, "limits.%s: min is greater than max", m.Name)
		}
		out = append(out, l)
	}
	return out
}

// amount parses a value of a metric, in the notation of its unit.
func (ar aimReader) amount(n *document.Node, m measure.Metric) float64 {
	text, ok := ar.r.scalar(n, m.Name)
	if !ok {
		return 0
	}
	v, want := parseAmount(text, m.Unit)
	if want != "" {
		ar.r.in.Complain(n, "%s: %q is not %s", m.Name, text, want)
	}
	return v
}

// parseAmount returns a value in base units, or the expected form.
func parseAmount(text, unit string) (v float64, want string) {
	switch unit {
	case "s":
		var d parameter.Duration
		if err := d.UnmarshalText([]byte(text)); err != nil {
			return 0, err.Error()
		}
		return float64(d) / 1e9, ""
	case "B":
		var b parameter.Bytes
		if err := b.UnmarshalText([]byte(text)); err != nil {
			return 0, err.Error()
		}
		return float64(b), ""
	case "B/s":
		var b parameter.Bytes
		size, found := strings.CutSuffix(text, "/s")
		if !found || b.UnmarshalText([]byte(size)) != nil {
			return 0, "a throughput, like 100MiB/s"
		}
		return float64(b), ""
	case "1/s":
		if number, _ := strings.CutSuffix(strings.TrimSpace(text), "/s"); strings.TrimSpace(number) == "0" {
			return 0, "" // 0 is 0 in any unit
		}
		var rate parameter.Rate
		if err := rate.UnmarshalText([]byte(text)); err != nil {
			return 0, err.Error()
		}
		return float64(rate), ""
	}
	v, ok := number(text)
	if !ok {
		return 0, "a number or a percentage"
	}
	return v, ""
}

// number reads a number, or a percentage as a share.
func number(text string) (float64, bool) {
	digits, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, false
	}
	if percent {
		v /= 100
	}
	return v, true
}

// PublishedKeys are the keys of a published figure.
var PublishedKeys = []Key{
	{"metric", "what was measured"},
	{"unit", "of the values, as published; default the metric's"},
	{"values", "by level, or by platform in a study of one arm: {LEVEL: number}"},
	{"change", "second level against the first: 27.5%"},
	{"note", "where the figure is from and what it says"},
}

func (ar aimReader) published(n *document.Node, metrics []measure.Metric) []study.Figure {
	if n.Refused || n.Empty() {
		return nil
	}
	if n.Kind != document.List {
		ar.r.in.Complain(n, "published must be a list, such as [{metric: iops, change: 27.5%%, note: ...}], not %s", n.Says())
		return nil
	}
	var out []study.Figure
	for i, item := range members(n) {
		out = append(out, ar.figure(item, fmt.Sprintf("published[%d]", i+1), metrics))
	}
	return out
}

// figure parses one published figure. Its metric may be unknown here, and then has its own
// unit.
func (ar aimReader) figure(n *document.Node, what string, metrics []measure.Metric) study.Figure {
	keys := ar.r.table(n, what, names(PublishedKeys))
	var f study.Figure
	text := func(name string, required bool) string {
		k, ok := keys[name]
		if !ok {
			if required && n.Kind == document.Mapping {
				ar.r.in.Complain(n, "%s: the key %q is missing", what, name)
			}
			return ""
		}
		t, _ := ar.r.scalar(k.value, name)
		return t
	}
	f.Metric, f.Unit, f.Note = text("metric", true), text("unit", false), text("note", true)
	if k, ok := keys["metric"]; ok && f.Unit == "" && f.Metric != "" {
		i := slices.IndexFunc(metrics, func(m measure.Metric) bool { return m.Name == f.Metric })
		if i >= 0 {
			f.Unit = metrics[i].Unit
		} else if len(metrics) > 0 {
			ar.r.in.Complain(k.value, "%s: the workload does not measure %q; to keep the figure give its unit", what, f.Metric)
		}
	}
	if k, ok := keys["values"]; ok {
		f.Values = map[string]float64{}
		for _, e := range ar.r.entries(k.value, "values") {
			f.Values[e.key.Text] = ar.r.number(e.value, "values")
		}
	}
	if k, ok := keys["change"]; ok {
		v := ar.r.number(k.value, "change")
		f.Change = &v
	}
	return f
}

func (r *reader) number(n *document.Node, what string) float64 {
	text, ok := r.scalar(n, what)
	if !ok {
		return 0
	}
	v, ok := number(text)
	if !ok {
		r.in.Complain(n, "%s: %q is not a number or a percentage", what, text)
	}
	return v
}
