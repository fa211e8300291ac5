// Package service is the contract for servers under load: web servers, key-value stores,
// databases.
//
// A service is a private instance that plimsoll starts in a scratch folder on a free port and
// removes afterwards, or one that already runs and is only used.
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
	// Needs names what must be installed or set up, as text; empty for nothing.
	Needs string
	// Spreads reports that it runs on all machines of a group that a study gives it: see Env.Peers.
	Spreads bool
	// Adapts names the settings that a running instance takes on without a restart: see Adapter.
	Adapts []string
	// Speaks lists its protocols, such as "redis". A workload names those that it supports; a
	// study without a service gets the first in the catalog with one of them.
	Speaks []string
	// Metrics lists the metrics from Instance.Counters, in the unit of the record: see Total.
	Metrics []measure.Metric
	// Ratios list metrics derived from these over the load, and Drained those from its begin until the instance was settled after it.
	Ratios, Drained []Ratio
	// Derived lists what Derive adds to the counters of a record, from these and from the values of the load.
	Derived []measure.Metric
	Derive  func(counters, values map[string]float64) // nil: nothing
	// Candidates are the settings that tune tries where the study names none.
	Candidates []parameter.Candidate
	Release    Releaser // nil: nothing is left outside its folder
	// Events reads what a server did by itself from its log; nil if the log does not say.
	Events func(log []byte) []Event
	// New builds a service from settings. Its errors are mistakes of the study.
	New func(settings parameter.Settings) (Service, error)
}

// Event is something that a server did by itself for a time, such as a checkpoint.
type Event struct {
	From, To time.Time // on the clock of its machine; To is zero for what had not ended
	Name     string
}

// Ratio is a metric derived from others over the load: one of them per the sum of others. A hit ratio is hits per hits and misses, a mean
// latency is time per operation.
type Ratio struct {
	measure.Metric
	Of  string   // name of a metric
	Per []string // names of metrics
}

// Recorded are all metrics of the service in a record.
func (k Kind) Recorded() []measure.Metric {
	all := slices.Clone(k.Metrics)
	for _, r := range slices.Concat(k.Ratios, k.Drained) {
		all = append(all, r.Metric)
	}
	return append(all, k.Derived...)
}

// Divide adds ratios to the counters that they are made of. One that lacks a metric or has a sum of 0 is left out.
func Divide(ratios []Ratio, counters map[string]float64) {
	for _, r := range ratios {
		of, known := counters[r.Of]
		sum := 0.0
		for _, name := range r.Per {
			n, ok := counters[name]
			known = known && ok
			sum += n
		}
		if known && sum > 0 {
			counters[r.Name] = of / sum
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

// Total reports whether a metric is a monotonic counter of the server, recorded as a rate per
// second: events and bytes (in 1/s and B/s), and CPU time, which Counters returns in seconds
// and a record has in CPUs.
func Total(m measure.Metric) bool {
	return strings.HasSuffix(m.Unit, "/s") || strings.HasSuffix(m.Name, ".cpu")
}

// Service is a service with its settings, ready to start.
type Service interface {
	// Check returns the service's requirements on the machine, without changing anything. Its
	// error is a mistake of the study or a missing prerequisite: one line, with a remedy.
	Check(ctx context.Context, env Env) (Needs, error)
	// Start starts the service and returns when it responds. Its files are below env.Dir. An
	// instance that dies during the start leaves nothing behind, and the error has the end of
	// its log.
	Start(ctx context.Context, env Env) (Instance, error)
}

// Instance is a service that runs.
type Instance interface {
	// Endpoint is its address for the protocol.
	Endpoint(protocol string) (load.Endpoint, error)
	// Observed reads its settings back from the server itself, by the name of the setting. A
	// setting that cannot be read is absent.
	Observed(ctx context.Context) (map[string]string, error)
	// Counters reads the server's own counters, in base units, monotonic or gauges. A service
	// without any returns nil.
	Counters(ctx context.Context) (map[string]float64, error)
	// Stop stops the instance and removes its files; one that plimsoll did not start keeps
	// running. A second call does nothing.
	Stop(ctx context.Context) error
}

// Adapter is an instance that takes on other values of the settings that its kind Adapts. After an error some of them may be in effect.
type Adapter interface {
	Adapt(ctx context.Context, settings parameter.Settings) error
}

// FailureReporter is an instance that can report why it died: its error is nil while it runs.
type FailureReporter interface {
	Died() error
}

// Troubled is an instance that can be in trouble while it runs: its disks are full, or return errors.
type Troubled interface {
	// Trouble is why loads wait for it for ever, or why what they measure does not count, with a remedy; nil for nothing since the last call.
	// It is called every few seconds during a load.
	Trouble(ctx context.Context) error
}

// Varying is a service that may differ from block to block: each trial then gets a fresh one.
type Varying interface {
	Varies() bool
}

// External is a service that may be running before the study.
type External interface {
	// External is where it listens, by protocol, so that loads can look at it before the study starts; nil
	// where plimsoll starts it.
	Endpoints() map[string]load.Endpoint
}

// Settling is an instance that may still have background work from before: a compaction, a
// vacuum, a purge.
type Settling interface {
	// Unsettled is its background work, such as "3 compactions"; empty when there is none.
	// Known is false if that cannot be determined.
	Unsettled(ctx context.Context) (busy string, known bool, err error)
}

// Logging is an instance with a log.
type Logging interface {
	// Logged is the log since the last call, or the end of that; nil for nothing.
	Logged(ctx context.Context) []byte
}

// Env is where a service runs.
type Env struct {
	Machine platform.Machine
	Dir     string // folder on the machine for this instance alone, created by Start and removed by Stop
	// Host is the address that a private instance listens at; empty is 127.0.0.1.
	Host string
	// Peers are the other machines of its group, for a kind that Spreads.
	Peers []Peer
	// Via is a prefix of the command line of a private instance, to start it in another
	// network namespace.
	Via  []string
	Seed uint64
	// Block is the random seed of the block of a trial.
	Block uint64
	Log   func(format string, args ...any)

	release Releaser // that of the kind
	shared  int      // port at which other servers listen as well; 0 for none
}

// Peer is another machine that a service runs on.
type Peer struct {
	Machine platform.Machine
	Dir     string // folder on that machine, created by Start and removed by Stop
	Host    string // the address of the machine to the others; empty is 127.0.0.1
}

// At is the environment on another machine of the group.
func (e Env) At(p Peer) Env {
	e.Machine, e.Dir, e.Host, e.Peers = p.Machine, p.Dir, p.Host, nil
	return e
}

// Needs is the requirements of a service.
type Needs struct {
	Disk     int64             // bytes that it will write below Env.Dir
	Memory   int64             // bytes of memory that it takes; 0 is unknown
	Time     time.Duration     // rough time to start
	Changes  []string          // each change outside Env.Dir, as a phrase
	Versions map[string]string // programs that will be used, such as nginx: 1.22.1
	Servers  int               // number of servers to start, each with its own data; 0 is one
	Copies   float64           // bytes on its disks for each byte of data, such as 2 with two copies; 0 is one
	Capacity int64             // bytes on its disks for data; 0 is unknown
	Store    string            // where a running instance has data; arms with the same share it. Empty: each has its own
}
