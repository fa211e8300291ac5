// Package events has the events of a run as lines of JSON: the file live.jsonl of a results folder while its run goes
// on, and what plimsoll run --events writes. docs/results.md has the fields, and the rule for versions.
//
// A Log makes lines of what package trial reports, and a Follower reads them while they are written. They are no
// results: nothing judges them, and the file is removed when a run has ended.
package events

import (
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/trial/certify"
)

// The file, and what its first line says.
const (
	FileName = "live.jsonl"
	Format   = "plimsoll-events"
	Version  = "1.0" // a field that is added raises the second number, one that changes or goes the first
)

// Line is the state of a run at an instant, with what happened since the line before. Values are in base units.
type Line struct {
	Format   string             `json:"format,omitempty"`   // of the first line only
	Version  string             `json:"version,omitempty"`  // of the first line only
	Plimsoll string             `json:"plimsoll,omitempty"` // version of the program, in the first line only
	Time     time.Time          `json:"time"`
	Run      *Run               `json:"run,omitempty"`     // a run begins here, or goes on after an interrupt
	Elapsed  float64            `json:"elapsed"`           // since then
	Phase    string             `json:"phase,omitempty"`   // step of the trial or of the run
	InPhase  float64            `json:"inPhase,omitempty"` // since it began
	Trial    int                `json:"trial,omitempty"`
	Trials   int                `json:"trials,omitempty"` // at most
	Block    int                `json:"block,omitempty"`
	Arm      string             `json:"arm,omitempty"`
	Blocks   int                `json:"blocks,omitempty"`  // complete ones
	Look     int                `json:"look,omitempty"`    // complete blocks at the next planned look
	Left     float64            `json:"left,omitempty"`    // estimate, if all trials are needed
	Soonest  float64            `json:"soonest,omitempty"` // estimate, if the next look decides
	Load     *Load              `json:"load,omitempty"`    // since the line before
	Counters map[string]float64 `json:"counters,omitempty"`
	Machines []Machine          `json:"machines,omitempty"`
	Ended    []Ended            `json:"ended,omitempty"` // trials
	Notes    []Note             `json:"notes,omitempty"`
}

// Run is what is known of a run at its beginning.
type Run struct {
	Name     string          `json:"name"` // of the results folder
	Study    string          `json:"study"`
	Question string          `json:"question,omitempty"`
	Platform string          `json:"platform"`
	Virtual  bool            `json:"virtual,omitempty"` // simulated, in virtual time
	Arms     []string        `json:"arms"`              // the first is the baseline
	Blocks   int             `json:"blocks"`            // at most
	Looks    []int           `json:"looks,omitempty"`   // complete blocks at each planned look
	Metric   measure.Metric  `json:"metric"`            // of the values of trials
	Limits   []certify.Limit `json:"limits,omitempty"`  // of the counters
}

// Figures sum up operations.
type Figures struct {
	Operations int64    `json:"operations"` // completed successfully
	Errors     int64    `json:"errors"`
	Rate       float64  `json:"rate"` // successful operations per second
	P50        *float64 `json:"p50,omitempty"`
	P99        *float64 `json:"p99,omitempty"` // nil where the data do not carry it
}

// Load is a part of a load.
type Load struct {
	From float64 `json:"from"` // since the load began
	To   float64 `json:"to"`
	Figures
	Late      int64              `json:"late,omitempty"`      // with a schedule
	Abandoned int64              `json:"abandoned,omitempty"` // with a schedule
	Classes   map[string]Figures `json:"classes,omitempty"`   // where there are several
}

// Machine is one of several machines.
type Machine struct {
	Name     string             `json:"name"`
	Group    string             `json:"group,omitempty"`
	Load     *Figures           `json:"load,omitempty"`
	Counters map[string]float64 `json:"counters,omitempty"`
}

// Ended is a trial that ended. It may be told again when a run goes on after an interrupt.
type Ended struct {
	Trial int      `json:"trial"`
	Block int      `json:"block"`
	Arm   string   `json:"arm"`
	Value *float64 `json:"value,omitempty"` // of the metric of the run
	Void  string   `json:"void,omitempty"`  // why it does not count
}

// Note is a message.
type Note struct {
	Phase string `json:"phase"`
	Text  string `json:"text"`
}
