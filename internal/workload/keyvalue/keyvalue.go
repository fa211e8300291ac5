// Package keyvalue is a workload of reads and writes on a key-value store that
// speaks the protocol of Redis or the text protocol of memcached. The load core of
// plimsoll moves the bytes; here is what is said, and to which keys.
//
// Each value follows from its key and the write that it is of, so that whatever is read can
// be held against what was acknowledged: a store that answers fast and wrong, or that loses
// an overwrite, fails.
package keyvalue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
)

// Parameters are the settings.
type Parameters struct {
	Protocol    string          `name:"protocol" doc:"protocol" choices:"redis,memcached"`
	Connections int             `name:"connections" doc:"number of connections" min:"1" max:"65536"`
	Pipeline    int             `name:"pipeline" doc:"pipeline depth: operations outstanding per connection" min:"1" max:"65536"`
	Read        parameter.Share `name:"read" doc:"share of reads; the rest are writes of whole values"`
	Keys        int             `name:"keys" doc:"number of keys" min:"1" max:"1000000000"`
	Law         string          `name:"law" doc:"key distribution; zipf: rank k is drawn in proportion to 1/k^skew" choices:"uniform,zipf"`
	Skew        float64         `name:"skew" doc:"exponent of the Zipf distribution" min:"0" max:"10"`
	Value       string          `name:"value" doc:"value size, or sizes with their shares of the keys, such as 64B/70:4KiB/30"`
	Fill        bool            `name:"fill" doc:"load every key before a trial; off, a trial starts with an empty store"`
	Misses      parameter.Share `name:"misses" doc:"maximum share of reads that miss; a trial with more is void"`

	workload.Pace `rate:"offered load in operations per second, in total; empty is a closed loop"`
}

const zipfLaw = "zipf"

// mostOutstanding keeps the memory of the load generator within bounds.
const mostOutstanding = 1 << 22

func defaults() Parameters {
	pace := workload.UsualPace(time.Second)
	pace.Threads = 2
	return Parameters{
		Protocol: "redis", Read: .9, Keys: 100_000, Law: "uniform", Skew: .99, Value: "256B", Fill: true,
		Connections: 50, Pipeline: 1, Pace: pace,
	}
}

// Kind is the workload as the catalog lists it.
func Kind() workload.Kind {
	return workload.Define(workload.Kind{
		Name:    "keyvalue",
		Doc:     "GET and SET against a key-value store that speaks the Redis or memcached protocol",
		Rate:    "operations",
		Metrics: metrics(),
		Speaks:  []string{"redis", "memcached"},
		Own:     true,
	}, defaults(), build)
}

func build(p Parameters) (workload.Load, error) {
	if most := p.Connections * p.Pipeline; most > mostOutstanding {
		return nil, fmt.Errorf("%d connections with a pipeline of %d: the maximum is %d outstanding operations", p.Connections, p.Pipeline, mostOutstanding)
	}
	k := &keyvalue{Parameters: p}
	var err error
	if k.bands, err = parseValue(p.Value); err != nil {
		return nil, err
	}
	k.offer, err = p.Offered()
	return k, err
}

type keyvalue struct {
	Parameters
	bands []band
	offer workload.Offer
}

// Demand is the demand of the load on the store.
func (k *keyvalue) Demand() load.Demand {
	d := k.offer.Demand(k.Connections * k.Pipeline)
	names := k.classes()
	for _, name := range names {
		share := float64(k.Read)
		if name == writeClass {
			share = 1 - share
		}
		if len(names) == 1 {
			share = 1
		}
		d.Classes = append(d.Classes, load.Class{Name: name, Share: share, Bytes: int64(meanSize(k.bands))})
	}
	return d
}

// The classes of operations.
const (
	readClass  = "read"
	writeClass = "write"
)

// classes are those that the load has.
func (k *keyvalue) classes() []string {
	switch k.Read {
	case 0:
		return []string{writeClass}
	case 1:
		return []string{readClass}
	}
	return []string{readClass, writeClass}
}

func (k *keyvalue) grammar() grammar {
	if k.Protocol == "memcached" {
		return memcached{}
	}
	return redis{}
}

// law is how keys are drawn. Which keys are hot follows from the seed of the data,
// so that they are the same in all trials of a study.
func (k *keyvalue) law(seed uint64) law {
	if k.Law == zipfLaw {
		return newZipf(int64(k.Keys), k.Skew, seed)
	}
	return uniform{uint64(k.Keys)}
}

// Check communicates with the store, where one runs already.
func (k *keyvalue) Check(ctx context.Context, env workload.Env) (workload.Needs, error) {
	var needs workload.Needs
	if err := k.offer.Trace.Check(); err != nil {
		return needs, err
	}
	if k.Fill {
		// Each key is written and read; a store takes some 200,000 a second and 500 MB/s.
		seconds := float64(k.Keys) * (2/200e3 + meanSize(k.bands)*2/500e6)
		needs.Time = time.Duration(seconds * float64(time.Second))
	}
	if env.Target == nil {
		return needs, nil // it will be started
	}
	c, err := k.call(ctx, env)
	if err != nil {
		return workload.Needs{}, err
	}
	defer c.close()
	needs.Changes = []string{fmt.Sprintf("writes keys that begin with %s to the store at %s, and removes them", keyPrefix, c.address)}
	return needs, nil
}

// target is where the store listens.
func (k *keyvalue) target(env workload.Env) (load.Endpoint, error) {
	if env.Target == nil {
		return load.Endpoint{}, errors.New("the workload keyvalue requires a store: add a service such as redis, memcached or responder to the study")
	}
	at, err := env.Target(k.Protocol)
	if err != nil {
		return at, fmt.Errorf("find a store that speaks %s: %w", k.Protocol, err)
	}
	return at, nil
}

// own are the metrics that operations and schedules in general do not have.
func own() []measure.Metric {
	return []measure.Metric{
		{Name: "misses", Unit: "1", Doc: "read miss ratio", Better: measure.LowerIsBetter},
		{Name: "wrong", Unit: "1", Doc: "share of reads with a wrong or stale value; they count as failed", Better: measure.LowerIsBetter},
	}
}

func metrics() []measure.Metric {
	return slices.Concat(measure.OperationMetrics("operations", readClass, writeClass), measure.ScheduleMetrics(readClass, writeClass), own(), measure.ClientMetrics("operation"))
}
