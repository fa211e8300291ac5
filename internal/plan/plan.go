// Package plan turns a study into trials. It is pure: the next trial follows
// from the study, the seed and the records so far, so that a dry run, a run, a
// resumed run and an adaptive design are the same code.
package plan

import (
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/study"
)

// The phases of a study.
const (
	PhaseMain  = "main"
	PhasePilot = "pilot" // first stage of Stein's method
)

// Arm is one level of every factor. Arm 0 is the baseline.
type Arm struct {
	Index  int               `json:"index"`
	Label  string            `json:"label"`  // "storage.threads=2"; "baseline" in a study without factors
	Levels map[string]string `json:"levels"` // by full name of the factor
}

// Trial is one arm in one block.
type Trial struct {
	Number int    `json:"number"` // from 1, in the order of execution
	Phase  string `json:"phase"`
	Block  int    `json:"block"` // from 1
	Slot   int    `json:"slot"`  // from 1
	Arm    int    `json:"arm"`
	Seed   uint64 `json:"seed"`           // of the load's random choices: common to a block
	Plot   int    `json:"plot,omitempty"` // whole plot, from 1; 0 without restart factors
}

// Plan is a study with everything that chance decides.
type Plan struct {
	Study *study.Study `json:"-"`
	Seed  uint64       `json:"seed"`
	Arms  []Arm        `json:"arms"`
	Looks []int        `json:"looks,omitempty"` // planned looks; nil with a fixed number of blocks
	Level float64      `json:"level"`           // confidence level of the interval at each look
	Most  int          `json:"most"`            // largest number of blocks
}

// Course is a study under way: a fold over its records.
type Course struct {
	// fields are set by Plan.Begin
	plan    *Plan
	records []measure.Record
}

// Estimate is what a study will take.
type Estimate struct {
	Trials    int            `json:"trials"` // if every planned block is needed
	Least     int            `json:"least"`  // if the first look decides
	Time      time.Duration  `json:"time"`   // for Trials
	LeastTime time.Duration  `json:"leastTime"`
	Changes   map[string]int `json:"changes"` // how often each factor of the machine is set
}
