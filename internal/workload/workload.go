// Package workload is the contract for what drives a system under test.
//
// A workload prepares, runs and cleans. It never knows which factor is varied:
// it is built again for each trial from the settings of that trial's arm.
package workload

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// Kind is a kind of workload. It is a value in the catalog, made by Define.
type Kind struct {
	Name, Doc string
	Defaults  any // the settings: this struct is the schema (see package parameter)
	// Needs describes prerequisites, as text; empty for none.
	Needs string
	// Metrics lists all that a record of this workload may hold; the first one
	// is the headline of a study that names none.
	Metrics []measure.Metric
	// Rate is the name of the operation rate, such as "iops".
	Rate string
	// Speaks lists the protocols by which the workload can talk to a service,
	// such as "redis"; nil when it talks to none.
	Speaks []string
	// Alone says that the workload also runs without a service.
	Alone bool
	// Disks says that the load itself reads and writes disks, with a number of I/Os
	// outstanding on them that its settings choose.
	Disks bool
	// Spreads says that the workload asks several servers of a service, where
	// there are several, and offers each of them its rate.
	Spreads bool
	// Unit is what a growth can add to the load itself, such as sessions; nil where it adds servers of the service alone.
	Unit *Unit
	// Own says that plimsoll itself makes the load, in the process that calls
	// Run: it then runs in a process of its own, so that nothing else of
	// plimsoll competes with it and its CPU time can be told.
	Own bool
	// Lab says that only plimsoll contains the clients of the load, and plimsoll-agent does not. For a machine that is not this host,
	// the process of the lab makes the load, and its connections to a service of the study begin on the machine.
	Lab bool
	// Clocked says that another system runs by a clock of its own, and the load reads its
	// counters: the CPU of this host does not limit it.
	Clocked bool
	// Candidates are the settings that tune tries where the study names none.
	Candidates []parameter.Candidate
	// JobFile writes a load as a job file of fio; nil if the load is none of fio. images says that its disks are images of
	// the service.
	JobFile func(settings parameter.Settings, images bool) (*JobFile, error)
	// New builds a load from settings. Its errors are mistakes of the study.
	New func(settings parameter.Settings) (Load, error)
}

// Define builds a Kind whose settings are the struct P. The function build may
// refuse combinations of settings that no field alone can refuse.
func Define[P any](k Kind, defaults P, build func(P) (Load, error)) Kind {
	k.Defaults = defaults
	k.New = func(settings parameter.Settings) (Load, error) {
		p := defaults
		if err := parameter.Decode(&p, settings); err != nil {
			return nil, err
		}
		return build(p)
	}
	return k
}

// Load is a workload with its settings, ready to run.
type Load interface {
	// Demand is what the load asks of the system under test.
	Demand() load.Demand
	// Check says, without changing anything, what the load needs on the
	// machine. Its error is a mistake of the study or a lack of the machine:
	// one line, naming what the user can do.
	Check(ctx context.Context, env Env) (Needs, error)
	// Prepare makes ready what Run needs, such as files; a second call finds
	// the work done. Run runs until stage.Length or until the recorder has
	// enough.
	Prepare(ctx context.Context, env Env) error
	Run(ctx context.Context, env Env, stage load.Stage, out *measure.Recorder) error
	// Clean removes what Prepare made; a second call finds nothing to do.
	Clean(ctx context.Context, env Env) error
}

// Unit is what a growth adds to a load.
type Unit struct {
	Name    string // such as "session"
	Setting string // how many there are, such as "sessions"
}

// Calibrated is a load of plimsoll's own that measures something alone, once in a study, before it runs.
type Calibrated interface {
	// Calibration is how long Calibrate takes at most on the machine; 0 if that has been done or what is known suffices.
	Calibration(ctx context.Context, env Env) (time.Duration, error)
	// Calibrate runs in the process of the load, and leaves in Env.Dir what Run needs of it.
	Calibrate(ctx context.Context, env Env) error
}

// Env is where a load runs.
type Env struct {
	Machine platform.Machine
	Dir     string // scratch folder on the machine, which plimsoll made
	Seed    uint64 // of the data that Prepare makes: the same for all trials of a study
	// Target finds where the service of the study listens for a protocol; nil without a service.
	// Check has that of a service.External only.
	Target func(protocol string) (load.Endpoint, error)
	// Speaks are the protocols of the service of the study, for Check: there, a service that
	// plimsoll will start has no Target yet.
	Speaks []string
	// Known is what an earlier trial of the study read back, by setting, for Calibration; nil in the first.
	Known map[string]string
	Log   func(format string, args ...any)
}

// Dial connects to a service as the machine reaches it: from there, where plimsoll can talk
// through the machine. A load that runs in a process of its own has no machine, and is on it.
func (e Env) Dial(ctx context.Context, at load.Endpoint) (net.Conn, error) {
	if through, ok := e.Machine.(platform.Dialer); ok {
		return through.Dial(ctx, at.Network, at.Address)
	}
	return (&net.Dialer{}).DialContext(ctx, at.Network, at.Address)
}

// Needs is what a load takes before it can run.
type Needs struct {
	Disk     int64             // bytes that Prepare will write below Env.Dir
	Served   int64             // bytes that Prepare will write to the service
	Time     time.Duration     // rough length of the first Prepare
	Changes  []string          // each change outside Env.Dir, as a phrase: "overwrites /dev/sdb"
	Versions map[string]string // programs that will be used, such as fio: 3.33
}

// Refused is the error of a Prepare that has changed nothing: what was asked cannot be done.
type Refused struct{ Err error }

// Error says why.
func (r *Refused) Error() string { return r.Err.Error() }

// Unwrap is the reason.
func (r *Refused) Unwrap() error { return r.Err }

// ExitError reports a worker that ended badly, with the end of what it wrote
// to its standard error.
type ExitError struct {
	Program     string
	Exit        int
	Signal      string
	OutOfMemory bool // as platform.Result has it
	Stderr      string
}

// Ended reports a program that ended badly.
func Ended(program string, r platform.Result) *ExitError {
	return &ExitError{Program: program, Exit: r.Exit, Signal: r.Signal, OutOfMemory: r.OutOfMemory, Stderr: strings.TrimSpace(string(r.Stderr))}
}

// Error says how the program ended.
func (e *ExitError) Error() string {
	if e.Signal != "" {
		return (&platform.KilledError{Program: e.Program, Signal: e.Signal, OutOfMemory: e.OutOfMemory}).Error()
	}
	return fmt.Sprintf("%s ended with status %d%s", e.Program, e.Exit, platform.NoteOutOfMemory(e.OutOfMemory))
}
