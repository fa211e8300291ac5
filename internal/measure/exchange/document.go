package exchange

import (
	"encoding/json"
	"fmt"
	"io"

	"plimsoll/internal/measure"
)

// exported is a run as a JSON document.
type exported struct {
	Study    string            `json:"study"`
	Workload string            `json:"workload"`
	Design   Design            `json:"design"`
	Arms     []string          `json:"arms"`
	Metrics  []measure.Metric  `json:"metrics"`
	Testbed  map[string]string `json:"testbed"`
	Records  []measure.Record  `json:"records"`
}

// writeJSON writes a run as one JSON document: the records as they lie on disk,
// with the design, the labels of the arms, the metrics and the testbed.
func writeJSON(w io.Writer, run Run) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", " ")
	encoder.SetEscapeHTML(false)
	records := run.Records
	if records == nil {
		records = []measure.Record{}
	}
	if err := encoder.Encode(exported{run.Study, run.Workload, run.Design, run.Labels, run.Metrics, run.Testbed, records}); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}
