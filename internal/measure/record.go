package measure

import "time"

// State is the outcome of a check.
type State string

// The outcomes of a check. Unknown means that it could not be judged: neither a pass nor a
// failure, and always shown.
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
	Detail string `json:"detail"` // the measured value against the limit
}

// Steadiness is the result of the drift gate.
type Steadiness string

// The results of the drift gate.
const (
	Steady        Steadiness = "steady"
	Drifting      Steadiness = "drifting"
	SteadyUnknown Steadiness = "unknown"
)

// Window is the measured part of a trial, in seconds since the load started.
type Window struct {
	Cut    float64    `json:"cut"`    // end of the discarded warm-up
	End    float64    `json:"end"`    // end of the window
	Steady Steadiness `json:"steady"` // result of the drift gate
	Drift  float64    `json:"drift"`  // fitted change over the window as a share of the mean
}

// HostOf begins a line of Record.Missing about the host of a guest, which was not read.
const HostOf = "host of "

// Record is the result of one trial. Values and counters are in base units.
type Record struct {
	Trial  int               `json:"trial"` // from 1, in the order of execution
	Phase  string            `json:"phase"` // plan.PhaseMain or plan.PhasePilot
	Block  int               `json:"block"` // from 1
	Slot   int               `json:"slot"`  // position in the block, from 1
	Arm    int               `json:"arm"`   // index into the plan's arms
	Levels map[string]string `json:"levels"`

	Start time.Time `json:"start"`
	End   time.Time `json:"end"`

	Observed map[string]string  `json:"observed,omitempty"` // levels as read back, by factor
	Window   Window             `json:"window"`
	Values   map[string]float64 `json:"values,omitempty"`   // metrics of the workload; absent if the data do not suffice
	Counts   map[string]int64   `json:"counts,omitempty"`   // operations and errors, in total and by class
	Faults   map[string]int64   `json:"faults,omitempty"`   // failed operations of the window by fault, if the workload reports faults
	Counters map[string]float64 `json:"counters,omitempty"` // of the host, over the window
	Missing  []string           `json:"missing,omitempty"`  // collectors that could not be read, with the reason

	// Parts are the results of each machine, if there are several.
	Parts []Part `json:"parts,omitempty"`

	// Probes are the offered loads of a search for a peak, in order; the values of the record
	// are the search's result.
	Probes []Probe `json:"probes,omitempty"`
	Peak   *Peak   `json:"peak,omitempty"`

	// Changes are those of the numbers of servers of elastic groups.
	Changes []Change `json:"changes,omitempty"`

	Checks   []Check           `json:"checks"`
	Void     string            `json:"void,omitempty"` // why the trial does not count; empty if it does
	Stderr   string            `json:"stderr,omitempty"`
	Warnings []string          `json:"warnings,omitempty"`
	Files    map[string]string `json:"files,omitempty"` // SHA-256 of each file beside the record
}

// Part is the result of one of several machines in a trial, over the window of the trial.
type Part struct {
	Machine  string             `json:"machine"`
	Group    string             `json:"group,omitempty"`
	Workload string             `json:"workload,omitempty"` // empty: it ran no load
	Rate     string             `json:"rate,omitempty"`     // name of the operation rate among the values
	Values   map[string]float64 `json:"values,omitempty"`
	Counts   map[string]int64   `json:"counts,omitempty"`
	Counters map[string]float64 `json:"counters,omitempty"`
	Missing  []string           `json:"missing,omitempty"` // collectors that could not be read
	Checks   []Check            `json:"checks,omitempty"`  // from its workload
}

// Change is a change of the number of servers of a machine.
type Change struct {
	Machine string  `json:"machine"`
	At      float64 `json:"at"`      // wall-clock, in seconds since the trial started
	Seconds float64 `json:"seconds"` // until it was done
	Servers int     `json:"servers"` // from then on
}

// Probe is one offered load of a search for a peak, or one size of a growth.
type Probe struct {
	Phase    string             `json:"phase"`            // of the search: bracket, ladder, confirm or growth
	Units    int                `json:"units,omitempty"`  // servers, of a growth
	Rate     float64            `json:"rate"`             // offered, 1/s
	From     float64            `json:"from"`             // start of its load, in seconds since the trial's
	To       float64            `json:"to"`               // its end
	Values   map[string]float64 `json:"values,omitempty"` // metrics of the workload over its window
	Passed   bool               `json:"passed"`
	Reason   string             `json:"reason,omitempty"`   // why it failed
	Limiting string             `json:"limiting,omitempty"` // metric of the exceeded limit
	Invalid  bool               `json:"invalid,omitempty"`  // the generator, rather than the system, may have been the bottleneck
	Overload bool               `json:"overload,omitempty"` // the offered rate exceeded the completion rate
	Starved  bool               `json:"starved,omitempty"`  // of an invalid one: other processes took the generator's CPU
	Began    float64            `json:"began,omitempty"`    // wall-clock, in seconds since the trial started, pauses included
	Ended    float64            `json:"ended,omitempty"`
	Stalls   []Stall            `json:"stalls,omitempty"`
}

// Settling is the share of a probe that is cut off at its beginning.
const Settling = .2

// Window is the measured part of a probe.
func (p *Probe) Window() Window { return Window{Cut: p.From + Settling*(p.To-p.From), End: p.To} }

// Stall is a time in which almost no due operations completed.
type Stall struct {
	At      float64 `json:"at"`      // wall-clock, in seconds since the trial started
	Seconds float64 `json:"seconds"` // wait of an operation that was due at its start
}

// Stalling describes stalls that do not depend on the rate.
type Stalling struct {
	Every    float64 `json:"every"`              // seconds from one stall to the next, on average
	Seconds  float64 `json:"seconds"`            // median length of a stall
	Periodic bool    `json:"periodic,omitempty"` // at equal intervals
}

// Peak is the result of a search: the highest rate within the limits, or the largest number of
// servers in place of the rate.
type Peak struct {
	Word      string  `json:"word"`               // identified, or the reason why there is no number
	Why       string  `json:"why,omitempty"`      // explanation of Word
	Estimate  float64 `json:"estimate,omitempty"` // 1/s
	Low       float64 `json:"low,omitempty"`      // ends of the confidence interval
	High      float64 `json:"high,omitempty"`
	Sustained float64 `json:"sustained,omitempty"` // the confirmed rate
	MaxPass   float64 `json:"maxPass,omitempty"`   // highest passing probe below every failed one
	MinFail   float64 `json:"minFail,omitempty"`   // lowest failed probe
	Limiting  string  `json:"limiting,omitempty"`  // metric of the limit that was exceeded
	Step      bool    `json:"step,omitempty"`      // the limit is sharp: sustained passed and high failed every time

	Stalling *Stalling `json:"stalling,omitempty"` // stalls that do not depend on the rate
}

// Valid reports whether the trial counts.
func (r *Record) Valid() bool { return r.Void == "" }
