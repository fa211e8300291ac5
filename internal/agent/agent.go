// Package agent runs loads in processes of their own: the lab's side starts the
// worker on a machine and takes down what it sends, the worker's side makes the
// load. A worker competes with nothing else of plimsoll, its CPU time can be told,
// and the confinement of workers holds for it.
//
// The lab hands the worker one Job, a JSON value on its standard input. The worker
// answers with messages, a JSON value on a line each. Where loads of several machines
// begin together the worker says that it is ready, and the lab answers with the instant,
// by the clock of the machine. SIGINT asks it to end because enough was measured; its
// death ends the load.
package agent

import (
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
)

// Command is the subcommand of plimsoll that is the worker.
const Command = "worker"

// Job is a load for a worker.
type Job struct {
	Workload string                   `json:"workload"` // name of its kind
	Settings parameter.Settings       `json:"settings,omitempty"`
	Stage    load.Stage               `json:"stage"`
	Dir      string                   `json:"dir"`
	Seed     uint64                   `json:"seed"`               // of the data of the study
	Targets  map[string]load.Endpoint `json:"targets,omitempty"`  // addresses of the service, by protocol
	Together bool                     `json:"together,omitempty"` // the load waits for its start time
}

// start answers a worker that is ready.
type start struct {
	At time.Time `json:"at"` // by the clock of its machine
}

// message is one line from a worker. One field is set.
type message struct {
	Interval *measure.Interval `json:"interval,omitempty"`
	Log      string            `json:"log,omitempty"`
	Ready    bool              `json:"ready,omitempty"`
	End      *end              `json:"end,omitempty"`
}

// end is the last message.
type end struct {
	Error    string             `json:"error,omitempty"`
	Observed map[string]string  `json:"observed,omitempty"`
	Values   map[string]float64 `json:"values,omitempty"`
	Checks   []measure.Check    `json:"checks,omitempty"`
}

// tardy is the time limit for the end of a load after its stage, after which it is killed:
// operations in flight up to their timeout, a server that recovers (2 min), and verification
// of data (1 min).
const tardy = 4 * time.Minute
