// Package agent runs loads in separate processes: the lab's side starts the worker on a
// machine and records its output, the worker's side generates the load. A worker shares no
// process with the rest of plimsoll, so its CPU time is measured separately, and confinement
// applies to it alone.
//
// The lab sends the worker one Job, a JSON value on its standard input. The worker answers
// with messages, one JSON value per line. If loads of several machines start together, the
// worker reports that it is ready, and the lab answers with the start time, by the clock of
// the machine. SIGINT ends the load because enough was measured; the death of the worker ends
// it too.
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
	Workload string                   `json:"workload"` // name of the workload
	Settings parameter.Settings       `json:"settings,omitempty"`
	Stage    load.Stage               `json:"stage"`
	Dir      string                   `json:"dir"`
	Seed     uint64                   `json:"seed"`               // seed of the study's data
	Targets  map[string]load.Endpoint `json:"targets,omitempty"`  // addresses of the service, by protocol
	Together bool                     `json:"together,omitempty"` // the load waits for its start time
	// Calibrate has the load calibrated, which must be a workload.Calibrated, instead of run.
	Calibrate bool `json:"calibrate,omitempty"`
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
