package hciexport

import (
	"cmp"
	"strings"

	"plimsoll/internal/lab"
	"plimsoll/internal/measure"
	"plimsoll/internal/measure/hcibench"
)

// result is the result of one load of a trial.
type result struct {
	window     measure.Window
	rate       float64 // that a search offered; 0 for none
	values     map[string]float64
	counts     map[string]int64
	histograms map[string]*measure.Histogram
}

// resultOf is the result of a trial: its window, or of a search for a peak the last confirmation of the sustained rate. It is nil if there is none.
func resultOf(r *lab.Recorded, record *measure.Record) (*result, error) {
	if record.Peak != nil {
		return probeOf(r, record)
	}
	if record.Values["iops"] <= 0 {
		return nil, nil
	}
	histograms, err := r.Results.Histograms(record)
	if err != nil {
		return nil, err
	}
	return &result{window: record.Window, values: record.Values, counts: record.Counts, histograms: histograms}, nil
}

// probeOf sums up the probe again from its intervals: the record has no counts of it.
func probeOf(r *lab.Recorded, record *measure.Record) (*result, error) {
	var last *measure.Probe
	for i := range record.Probes {
		if p := &record.Probes[i]; p.Passed && !p.Invalid && p.Rate == record.Peak.Sustained {
			last = p
		}
	}
	if last == nil {
		return nil, nil
	}
	intervals, err := r.Results.Intervals(record)
	if err != nil {
		return nil, err
	}
	s, err := measure.Summarise(intervals, last.Window(), "iops")
	if err != nil {
		return nil, err
	}
	return &result{window: last.Window(), rate: last.Rate, values: s.Values, counts: s.Counts, histograms: s.Histograms}, nil
}

// machines are the machines of a group: the parts of the record, or all together if it has none.
func (o *result) machines(r *lab.Recorded, record *measure.Record, g *group) (all []hcibench.Machine, err error) {
	for _, p := range record.Parts {
		if p.Group != g.name || p.Workload != g.use.Kind || p.Counts["operations"] <= 0 || p.Values["iops"] <= 0 {
			continue
		}
		one := &result{values: p.Values, counts: p.Counts}
		if record.Files[measure.LatencyFile(p.Machine)] != "" { // not in folders of earlier versions
			if one.histograms, err = r.Results.HistogramsOf(record, p.Machine); err != nil {
				return nil, err
			}
		}
		all = append(all, machine(p.Machine, one))
	}
	if len(all) == 0 && !g.beside {
		all = append(all, machine(g.name, o))
	}
	return all, nil
}

func machine(name string, o *result) hcibench.Machine {
	name = strings.NewReplacer("/", "-", "\x00", "-").Replace(cmp.Or(name, "host"))
	return hcibench.Machine{Name: name, Classes: hcibench.ClassesOf(o.values, o.counts, o.histograms), Errors: o.counts["errors"]}
}
