package lab

import (
	"io"
	"path/filepath"
	"slices"

	"plimsoll/internal/exposition"
	"plimsoll/internal/measure/exchange"
)

// Export writes the records of a run in another format: json, csv, parquet,
// benchfmt or openmetrics.
func (l *Lab) Export(w io.Writer, dir, format string) error {
	run, err := l.exported(dir)
	if err != nil {
		return err
	}
	if err := exchange.Write(w, *run, format); err != nil {
		return &mistake{err}
	}
	return nil
}

// Metrics are the values of the valid trials of a run for a monitoring system, which tells runs apart by a name.
func (l *Lab) Metrics(dir, name string) ([]exposition.Family, error) {
	run, err := l.exported(dir)
	if err != nil {
		return nil, err
	}
	run.Name = name
	return exchange.Families(*run), nil
}

// exported is a run for export.
func (l *Lab) exported(dir string) (*exchange.Run, error) {
	r, err := open(dir)
	if err != nil {
		return nil, err
	}
	m, err := r.measured(l.Catalog)
	if err != nil {
		return nil, err
	}
	whole, _ := filepath.Abs(dir) // empty without a working directory
	run := &exchange.Run{
		Study: r.Source.Study.Name, Name: filepath.Base(whole), Workload: m.kind.Name, Records: m.records, Testbed: map[string]string{},
		Metrics: append(slices.Clone(r.Source.Study.Results(l.Catalog)), countersOf(l.Catalog)...),
	}
	if i := r.Source.Study.Imported; i != nil {
		run.Metrics = append(run.Metrics, i.Counters...)
	}
	run.Design = exchange.Design{
		Seed: r.Plan.Seed, Headlines: r.Source.Study.Headline, Margin: r.Source.Study.Margin, Level: r.Plan.Level, Error: r.Plan.Alpha(),
		Looks: r.Plan.Looks, Least: r.Plan.Least(), Planned: r.Plan.Most, Pilot: r.Plan.Pilot, Order: r.Plan.Order,
	}
	for _, arm := range r.Plan.Arms {
		run.Labels = append(run.Labels, arm.Label)
	}
	for _, f := range m.bed {
		run.Testbed[f.Name] = f.Value
	}
	return run, nil
}
