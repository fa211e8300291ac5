// Package exchange writes the records of a run for other tools, and brings in
// what other tools wrote: results of fio and folders of HCIBench.
//
// What goes out is in base units with every digit that the number has. What comes
// in becomes records like those of a trial, marked as imported: their order was
// not random, so a comparison of them is weaker than one of blocks.
package exchange

import (
	"fmt"
	"io"
	"strings"

	"plimsoll/internal/measure"
)

// Run is a run of a study, ready to be written.
type Run struct {
	Study    string
	Workload string
	Labels   []string         // of the arms, by index
	Metrics  []measure.Metric // of the records' values and counters, in the order to show
	Records  []measure.Record
	Testbed  map[string]string // facts by name
}

// Write writes a run in one of the formats json, csv, parquet and benchfmt.
func Write(w io.Writer, run Run, format string) error {
	for _, f := range formats {
		if f.name == format {
			return f.write(w, run)
		}
	}
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.name
	}
	return fmt.Errorf("unknown format %q; known: %s", format, strings.Join(names, ", "))
}

var formats = []struct {
	name  string
	write func(io.Writer, Run) error
}{{"json", WriteJSON}, {"csv", WriteCSV}, {"parquet", WriteParquet}, {"benchfmt", WriteBenchfmt}}

// label is the label of an arm.
func (r Run) label(arm int) string {
	if arm < 0 || arm >= len(r.Labels) {
		return ""
	}
	return r.Labels[arm]
}
