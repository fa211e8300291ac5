// Package exchange exports the records of a run for other tools, in base units with full
// precision.
package exchange

import (
	"fmt"
	"io"
	"strings"

	"plimsoll/internal/measure"
)

// Run is a run of a study to export.
type Run struct {
	Study    string
	Name     string // of its results folder
	Workload string
	Labels   []string         // of the arms, by index
	Metrics  []measure.Metric // of the records' values and counters, in display order
	Records  []measure.Record
	Testbed  map[string]string // facts by name
	Design   Design
}

// Design is the configuration of the verdicts of a run: with the records, it determines
// effects, intervals and verdicts. Arm 0 is the baseline.
type Design struct {
	Seed      uint64   `json:"seed"`
	Headlines []string `json:"headlines"`
	Margin    float64  `json:"margin"`          // smallest effect of interest, as a share
	Level     float64  `json:"level"`           // confidence level of all intervals together, over looks and headlines
	Error     float64  `json:"error"`           // two-sided error of the interval of one headline at one look
	Looks     []int    `json:"looks,omitempty"` // planned looks, in complete blocks
	Least     int      `json:"least"`           // fewest blocks for a verdict
	Planned   int      `json:"planned"`         // largest number of complete blocks
	Pilot     int      `json:"pilot,omitempty"` // blocks of the pilot, whose variance determined the total
	Order     string   `json:"order,omitempty"` // order of arms within blocks
}

// Write writes a run in one of the formats json, csv, parquet, benchfmt and openmetrics.
func Write(w io.Writer, run Run, format string) error {
	for _, f := range formats {
		if f.name == format {
			return f.write(w, run)
		}
	}
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	names = append(names, OTLP, HCIBench)
	return fmt.Errorf("unknown format %q; known: %s", format, strings.Join(names, ", "))
}

var formats = []struct {
	name  string
	write func(io.Writer, Run) error
}{{"json", writeJSON}, {"csv", writeCSV}, {"parquet", writeParquet}, {"benchfmt", writeBenchfmt}, {"openmetrics", writeOpenMetrics}}

// Formats that are not for Write: that of HCIBench is a folder, and OTLP is sent.
const (
	HCIBench = "hcibench"
	OTLP     = "otlp"
)

// label is the label of an arm.
func (r Run) label(arm int) string {
	if arm < 0 || arm >= len(r.Labels) {
		return ""
	}
	return r.Labels[arm]
}
