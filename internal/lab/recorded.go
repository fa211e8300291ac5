package lab

import (
	"plimsoll/internal/collect"
	"plimsoll/internal/measure"
	"plimsoll/internal/study"
)

// Recorded is a run with the records of its completed trials and its testbed.
type Recorded struct {
	*Run
	Records []measure.Record
	Testbed collect.TestbedRecord // none in folders of earlier versions
	Results *measure.Results
	Metrics []measure.Metric // that the records may hold
}

// ReadRecorded reads a results folder.
func ReadRecorded(c *study.Catalog, dir string) (*Recorded, error) {
	r, err := open(dir)
	if err != nil {
		return nil, err
	}
	m, err := r.measured(c)
	if err != nil {
		return nil, err
	}
	return &Recorded{Run: r, Records: m.records, Testbed: m.bed, Results: measure.OpenResults(dir), Metrics: append(countersOf(c), metricsOf(c, r.Source.Study)...)}, nil
}

// Mistake marks an error as one in the input.
func Mistake(err error) error { return &mistake{err} }
