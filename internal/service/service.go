// Package service is the contract for what a workload talks to: web servers,
// key-value stores, databases.
//
// A service is a private instance that plimsoll starts in a scratch folder on a
// free port and removes afterwards, or one that already runs and is only used.
package service

import (
	"context"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// Kind is a kind of service. It is a value in the catalog, made by Define.
type Kind struct {
	Name, Doc string
	Defaults  any // the settings: this struct is the schema (see package parameter)
	// Needs names what has to be installed or set up beforehand, for people; empty for nothing.
	Needs string
	// Speaks lists the protocols that it serves, such as "redis". A workload
	// names those that it can use; a study that names no service gets the first
	// in the catalog that speaks one of them.
	Speaks []string
	// Metrics lists what records get from Instance.Counters, in the unit of the
	// record: see Total.
	Metrics []measure.Metric
	// Shares list what records get beside these, made of them.
	Shares  []Share
	Release Releaser // nil: what it leaves lies in its folder
	// New builds a service from settings. Its errors are mistakes of the study.
	New func(settings parameter.Settings) (Service, error)
}

// Share is a metric that a record gets of two others: what one is of both together, over
// the load.
type Share struct {
	measure.Metric
	Part, Rest string // names of metrics
}

// Recorded are all metrics that a record gets of the service.
func (k Kind) Recorded() []measure.Metric {
	all := slices.Clone(k.Metrics)
	for _, s := range k.Shares {
		all = append(all, s.Metric)
	}
	return all
}

// Divide adds the shares to counters of a record. One of nothing is left out.
func (k Kind) Divide(counters map[string]float64) {
	for _, s := range k.Shares {
		part, ok := counters[s.Part]
		rest, also := counters[s.Rest]
		if ok && also && part+rest > 0 {
			counters[s.Name] = part / (part + rest)
		}
	}
}

// Define builds a Kind whose settings are the struct P. The function build may
// refuse combinations of settings that no field alone can refuse. A struct that
// embeds Placement can ask for several servers.
func Define[P any](k Kind, defaults P, build func(P) (Service, error)) Kind {
	k.Defaults = defaults
	k.New = func(settings parameter.Settings) (Service, error) {
		p := defaults
		if err := parameter.Decode(&p, settings); err != nil {
			return nil, err
		}
		one, err := build(p)
		if err != nil {
			return nil, err
		}
		if one, err = spread(one, p); err != nil || k.Release == nil {
			return one, err
		}
		return releasing{one, k.Release}, nil
	}
	return k
}

// Total reports whether a server keeps a metric as a running total, of which a record
// gets the increase per second: events and bytes (in 1/s and B/s), and CPU time, which
// Counters returns in seconds and a record holds in CPUs.
func Total(m measure.Metric) bool {
	return strings.HasSuffix(m.Unit, "/s") || strings.HasSuffix(m.Name, ".cpu")
}

// Service is a service with its settings, ready to start.
type Service interface {
	// Check says, without changing anything, what the service needs on the
	// machine. Its error is a mistake of the study or a lack of the machine:
	// one line, naming what the user can do.
	Check(ctx context.Context, env Env) (Needs, error)
	// Start starts the service and returns when it answers. What it writes
	// lies below env.Dir. An instance that dies on the way leaves nothing
	// behind, and the error holds the end of what it logged.
	Start(ctx context.Context, env Env) (Instance, error)
}

// Instance is a service that runs.
type Instance interface {
	// Endpoint is where it listens for the protocol.
	Endpoint(protocol string) (load.Endpoint, error)
	// Observed reads its settings back from the server itself, by the name of
	// the setting. One that it cannot tell is absent.
	Observed(ctx context.Context) (map[string]string, error)
	// Counters reads what the server counts about itself, in base units, as
	// running totals or levels. A service without any returns nil.
	Counters(ctx context.Context) (map[string]float64, error)
	// Stop ends the instance and removes what it wrote; one that was only used
	// is left running. A second call finds nothing to do.
	Stop(ctx context.Context) error
}

// Mortal is an instance that can tell why it does not run any more: its error is nil while
// it runs.
type Mortal interface {
	Died() error
}

// Varying is a service that may differ from block to block: each trial then gets a fresh one.
type Varying interface {
	Varies() bool
}

// Settling is an instance that may still be at work with what it was given before: a
// compaction, a vacuum, a purge.
type Settling interface {
	// Unsettled is what it still does, as a phrase such as "3 compactions"; empty when all
	// is done. Known is false where it cannot tell.
	Unsettled(ctx context.Context) (busy string, known bool, err error)
}

// Logging is an instance that keeps what it logs.
type Logging interface {
	// Logged is what it logged since it was asked last, or the end of that; nil for nothing.
	Logged(ctx context.Context) []byte
}

// Env is where a service runs.
type Env struct {
	Machine platform.Machine
	Dir     string // folder on the machine for this instance alone, to be made by Start and removed by Stop
	// Host is the address that a private instance listens at; empty is 127.0.0.1.
	Host string
	// Via comes before the command line of a private instance, to start it in
	// another network.
	Via  []string
	Seed uint64
	// Block is the random seed of the block of a trial.
	Block uint64
	Log   func(format string, args ...any)

	release Releaser // that of the kind
}

// Needs is what a service takes before it can run.
type Needs struct {
	Disk     int64             // bytes that it will write below Env.Dir
	Time     time.Duration     // rough time to start
	Changes  []string          // each change outside Env.Dir, as a phrase
	Versions map[string]string // programs that will be used, such as nginx: 1.22.1
	Servers  int               // how many it will start, each with data of its own; 0 is one
}
