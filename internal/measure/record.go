package measure

import "time"

// State is the outcome of a check.
type State string

// The outcomes of a check. Unknown means that it could not be judged, which is
// neither a pass nor a failure and is always shown.
const (
	Pass    State = "pass"
	Fail    State = "fail"
	Unknown State = "unknown"
)

// Check is one line of a certificate.
type Check struct {
	Name   string `json:"name"` // such as "little's law", "drift", "read back"
	State  State  `json:"state"`
	Detail string `json:"detail"` // what was seen against what was allowed, as a phrase
}

// Steadiness is the answer of the drift gate.
type Steadiness string

// The answers of the drift gate.
const (
	Steady        Steadiness = "steady"
	Drifting      Steadiness = "drifting"
	SteadyUnknown Steadiness = "unknown"
)

// Window is the part of a trial that counts. Its times are seconds since the
// load started.
type Window struct {
	Cut    float64    `json:"cut"`    // warm-up that was discarded
	End    float64    `json:"end"`    // end of the part that counts
	Steady Steadiness `json:"steady"` // answer of the drift gate
	Drift  float64    `json:"drift"`  // fitted change over the window as a share of the mean
}

// Record is what one trial yields. Values and counters are in base units.
type Record struct {
	Trial  int               `json:"trial"` // from 1, in the order of execution
	Phase  string            `json:"phase"` // plan.PhaseMain or plan.PhasePilot
	Block  int               `json:"block"` // from 1
	Slot   int               `json:"slot"`  // place in the block, from 1
	Arm    int               `json:"arm"`   // index into the plan's arms
	Levels map[string]string `json:"levels"`

	Start time.Time `json:"start"`
	End   time.Time `json:"end"`

	Observed map[string]string  `json:"observed,omitempty"` // levels as read back, by factor
	Window   Window             `json:"window"`
	Values   map[string]float64 `json:"values,omitempty"`   // metrics of the workload; one that the data cannot bear is absent
	Counts   map[string]int64   `json:"counts,omitempty"`   // operations and errors, in all and by class
	Counters map[string]float64 `json:"counters,omitempty"` // of the host, over the window
	Missing  []string           `json:"missing,omitempty"`  // collectors that could not be read, with the reason

	Checks   []Check           `json:"checks"`
	Void     string            `json:"void,omitempty"` // why the trial does not count; empty when it does
	Stderr   string            `json:"stderr,omitempty"`
	Warnings []string          `json:"warnings,omitempty"`
	Files    map[string]string `json:"files,omitempty"` // SHA-256 of each file beside the record
}

// Valid says whether the trial counts.
func (r *Record) Valid() bool { return r.Void == "" }
