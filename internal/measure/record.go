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
	Name   string `json:"name"`           // such as "little's law", "drift", "read back"
	Kind   Kind   `json:"kind,omitempty"` // KindData where it judges data; else empty
	State  State  `json:"state"`
	Detail string `json:"detail"` // the measured value against the limit, as a phrase
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
	Faults   map[string]int64   `json:"faults,omitempty"`   // failed operations of the window by their faults, where the workload tells them
	Counters map[string]float64 `json:"counters,omitempty"` // of the host, over the window
	Missing  []string           `json:"missing,omitempty"`  // collectors that could not be read, with the reason

	// Parts are what each machine did, where there were several.
	Parts []Part `json:"parts,omitempty"`

	// Probes are the offered loads of a search for a peak, in their order; the
	// values of the record are then what the search found.
	Probes []Probe `json:"probes,omitempty"`
	Peak   *Peak   `json:"peak,omitempty"`

	Checks   []Check           `json:"checks"`
	Void     string            `json:"void,omitempty"` // why the trial does not count; empty when it does
	Stderr   string            `json:"stderr,omitempty"`
	Warnings []string          `json:"warnings,omitempty"`
	Files    map[string]string `json:"files,omitempty"` // SHA-256 of each file beside the record
}

// Part is what one of several machines did in a trial, over the window of the whole.
type Part struct {
	Machine  string             `json:"machine"`
	Group    string             `json:"group,omitempty"`
	Workload string             `json:"workload,omitempty"` // empty: it drove nothing
	Rate     string             `json:"rate,omitempty"`     // name of the operation rate among the values
	Values   map[string]float64 `json:"values,omitempty"`
	Counts   map[string]int64   `json:"counts,omitempty"`
	Counters map[string]float64 `json:"counters,omitempty"`
	Missing  []string           `json:"missing,omitempty"` // collectors that could not be read
	Checks   []Check            `json:"checks,omitempty"`  // that its workload made
}

// Probe is one offered load of a search for a peak, or one size of a growth.
type Probe struct {
	Phase    string             `json:"phase"`            // of the search: bracket, ladder, confirm or growth
	Units    int                `json:"units,omitempty"`  // servers, of a growth
	Rate     float64            `json:"rate"`             // offered, 1/s
	From     float64            `json:"from"`             // of its load, in seconds since that of the trial began
	To       float64            `json:"to"`               // its end
	Values   map[string]float64 `json:"values,omitempty"` // metrics of the workload over its window
	Passed   bool               `json:"passed"`
	Reason   string             `json:"reason,omitempty"`   // why it did not pass
	Limiting string             `json:"limiting,omitempty"` // metric of the limit that it did not keep
	Invalid  bool               `json:"invalid,omitempty"`  // it says more about the generator than about the system
	Overload bool               `json:"overload,omitempty"` // operations came faster than they were served
	Starved  bool               `json:"starved,omitempty"`  // of an invalid one: others took the CPU that the generator needed
	Began    float64            `json:"began,omitempty"`    // on the clock, in seconds since the trial started, pauses included
	Ended    float64            `json:"ended,omitempty"`
	Stalls   []Stall            `json:"stalls,omitempty"`
}

// Stall is a time in which next to nothing was completed of what was due.
type Stall struct {
	At      float64 `json:"at"`      // on the clock, in seconds since the trial started
	Seconds float64 `json:"seconds"` // that an operation waited which was due when it began
}

// Stalling is how a system stalls, whatever the rate.
type Stalling struct {
	Every    float64 `json:"every"`              // seconds from one stall to the next, on average
	Seconds  float64 `json:"seconds"`            // of one stall, the median
	Periodic bool    `json:"periodic,omitempty"` // at equal intervals
}

// Peak is the answer of a search: the highest rate at which limits were kept, or the
// largest number of servers, which then takes the place of the rate.
type Peak struct {
	Word      string  `json:"word"`               // identified, or why there is no number
	Why       string  `json:"why,omitempty"`      // the reasons for the word
	Estimate  float64 `json:"estimate,omitempty"` // 1/s
	Low       float64 `json:"low,omitempty"`      // ends of its interval
	High      float64 `json:"high,omitempty"`
	Sustained float64 `json:"sustained,omitempty"` // confirmed rate: the claim
	MaxPass   float64 `json:"maxPass,omitempty"`   // highest probe that passed below every one that failed
	MinFail   float64 `json:"minFail,omitempty"`   // lowest probe that failed
	Limiting  string  `json:"limiting,omitempty"`  // metric of the limit that ended it
	Step      bool    `json:"step,omitempty"`      // the limit is sharp: sustained passed and high failed each time

	Stalling *Stalling `json:"stalling,omitempty"` // stalls that come whatever the rate
}

// Valid reports whether the trial counts.
func (r *Record) Valid() bool { return r.Void == "" }
