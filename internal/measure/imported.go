package measure

// Imported says that records are results of another tool: plimsoll measured nothing, and their study cannot be run.
type Imported struct {
	Format   string   `json:"format"`             // as in import --format
	Tools    []string `json:"tools"`              // name and version
	Files    []string `json:"files"`              // by trial, without folders
	Rate     string   `json:"rate,omitempty"`     // name of the operation rate
	Metrics  []Metric `json:"metrics"`            // of the records, in display order
	Counters []Metric `json:"counters,omitempty"` // of the records
	Absent   string   `json:"absent,omitempty"`   // what the files cannot carry, as sentences
}
