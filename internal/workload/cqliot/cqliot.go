// Package cqliot is a workload of time series: sensors of many machines write readings,
// and now and then the last readings of a sensor are read. It is the CQL-IOT workload
// that is published with NoSQLBench, over our own client of Cassandra's protocol.
//
// Each reading follows from the number of its cycle. In mode faithful cycles are what
// the published workload makes of them, with its flaws: its reads come only to some
// machines, to which the main phase writes nothing. In mode sound reads ask for what was
// written.
package cqliot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"plimsoll/internal/cql"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/wire"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/cqliot/foreign"
)

// Parameters are the settings.
type Parameters struct {
	Mode     string `name:"mode" doc:"faithful: the published cycles in sequence; sound: current timestamps, and reads of rows that were written" choices:"faithful,sound"`
	Sources  int    `name:"sources" doc:"number of sources (machines with sensors)" min:"1" max:"1000000000"`
	Stations int    `name:"stations" doc:"number of stations, to which sources belong" min:"1" max:"1000000"`
	Speed    int    `name:"timespeed" doc:"milliseconds between two readings of a source" min:"1" max:"1000000000"`
	Limit    int    `name:"limit" doc:"LIMIT of a read, in readings" min:"1" max:"1000"`
	Rampup   int    `name:"rampup" doc:"cycles of the ramp-up, written before the first trial" max:"2000000000"`
	Reads    int    `name:"read_ratio" doc:"reads in every read_ratio + write_ratio operations" max:"1000"`
	Writes   int    `name:"write_ratio" doc:"writes in every read_ratio + write_ratio operations" max:"1000"`
	First    int    `name:"first" doc:"first cycle of a trial; mode sound counts from the end of the ramp-up" max:"1000000000000"`
	Parts    int    `name:"parts" doc:"number of load machines that share the cycles of a trial" min:"1" max:"1000"`
	Part     int    `name:"part" doc:"index of this load machine, from 1" min:"1" max:"1000"`
	Words    string `name:"words" doc:"file of sensor names, one per line, such as the published one; empty is 100 built-in names"`
	Text     string `name:"text" doc:"file from which the data of readings is cut, such as the published one; empty is a built-in text of the same size"`

	ReadConsistency  string          `name:"read_consistency" doc:"read consistency level" choices:"one,two,three,quorum,all,local_quorum,local_one"`
	WriteConsistency string          `name:"write_consistency" doc:"write consistency level" choices:"any,one,two,three,quorum,all,local_quorum,each_quorum,local_one"`
	Replication      int             `name:"replication" doc:"replication factor" min:"1" max:"16"`
	Durable          bool            `name:"durable_writes" doc:"durable_writes of the keyspace: write to the commit log"`
	Compaction       string          `name:"compaction" doc:"compaction strategy" choices:"time_window,size_tiered,leveled,unified"`
	Window           int             `name:"compaction_window" doc:"window of time_window compaction, in minutes" min:"1" max:"100000"`
	Compression      string          `name:"compression" doc:"SSTable compression" choices:"lz4,zstd,none"`
	Found            parameter.Share `name:"found" doc:"minimum share of reads with a result; a trial with less is void"`

	Driver      string `name:"driver" doc:"client; own: plimsoll's, one frame per operation; gocql: Apache Cassandra's Go driver, for comparison" choices:"own,gocql"`
	Protocol    int    `name:"protocol" doc:"native protocol version" min:"4" max:"5"`
	Connections int    `name:"connections" doc:"connections per node" min:"1" max:"10000"`
	InFlight    int    `name:"in_flight" doc:"operations outstanding per connection; times connections, the threads of the published workload" min:"1" max:"32768"`

	workload.Pace `rate:"offered load in cycles per second, per node; empty is a closed loop" shape:"-" trace:"-"`
}

func defaults() Parameters {
	return Parameters{
		Mode: sound, Sources: 10_000, Stations: 100, Speed: 100, Limit: 10, Rampup: 100_000, Reads: 1, Writes: 9, Parts: 1, Part: 1,
		ReadConsistency: "local_quorum", WriteConsistency: "local_quorum", Replication: 1, Durable: true, Compaction: "time_window", Window: 60,
		Compression: "lz4", Found: .99,
		Driver: ownDriver, Protocol: 5, Connections: 4, InFlight: 16, Pace: workload.UsualPace(10 * time.Second),
	}
}

const (
	protocol  = "cql"
	keyspace  = "plimsoll_iot"
	faithful  = "faithful"
	sound     = "sound"
	ownDriver = "own"

	readClass  = "read"
	writeClass = "write"
)

// mostOutstanding keeps the memory of the load generator within bounds.
const mostOutstanding = 1 << 20

// Kind is the workload as the catalog lists it. The Go driver of Apache Cassandra is handed
// in; a program that goes without it, such as an agent, hands in nil.
func Kind(gocql foreign.Opener) workload.Kind {
	return workload.Define(workload.Kind{
		Name:    "cql-iot",
		Doc:     "sensor readings written to and read from Cassandra, after NoSQLBench's CQL-IOT",
		Rate:    "cycles",
		Metrics: slices.Concat(measure.OperationMetrics("cycles", readClass, writeClass), measure.ScheduleMetrics(readClass, writeClass), own(), measure.ClientMetrics("cycle")),
		Speaks:  []string{protocol},
		Own:     true,
	}, defaults(), func(p Parameters) (workload.Load, error) { return build(p, gocql) })
}

// own are the metrics that operations and schedules in general do not have.
func own() []measure.Metric {
	return []measure.Metric{
		{Name: "found", Unit: "1", Doc: "share of reads with a result", Better: measure.HigherIsBetter},
		{Name: "readings", Unit: "1", Doc: "readings per read"},
		{Name: "elsewhere", Unit: "1", Doc: "share of operations sent to a node that is not the row's first replica"},
	}
}

func build(p Parameters, gocql foreign.Opener) (workload.Load, error) {
	for _, c := range []struct {
		wrong bool
		why   string
	}{
		{p.Reads+p.Writes == 0, "read_ratio and write_ratio are both 0: nothing would be done"},
		{p.Part > p.Parts, fmt.Sprintf("part %d of %d parts", p.Part, p.Parts)},
		{p.Connections*p.InFlight > mostOutstanding, fmt.Sprintf("%d connections with %d in flight: at most %d operations may be outstanding", p.Connections, p.InFlight, mostOutstanding)},
		{p.Driver != ownDriver && gocql == nil, "driver gocql: the agents of plimsoll go without it; take driver own, or run the load on plimsoll's own machine"},
		{p.Reads > 0 && p.Mode == sound && p.Rampup == 0, "mode sound reads what was written before: give a rampup"},
	} {
		if c.wrong {
			return nil, errors.New(c.why)
		}
	}
	offer, err := p.Offered()
	return &iot{Parameters: p, open: gocql, offer: offer}, err
}

type iot struct {
	Parameters
	offer workload.Offer
	open  foreign.Opener // of the Go driver
}

// Demand is the demand of the load on each node.
func (i *iot) Demand() load.Demand {
	d := i.offer.Demand(i.Connections * i.InFlight)
	all := float64(i.Reads + i.Writes)
	if i.Reads > 0 {
		d.Classes = append(d.Classes, load.Class{Name: readClass, Share: float64(i.Reads) / all, Bytes: int64(i.Limit) * rowBytes})
	}
	if i.Writes > 0 {
		d.Classes = append(d.Classes, load.Class{Name: writeClass, Share: float64(i.Writes) / all, Bytes: rowBytes})
	}
	return d
}

// rowBytes is the approximate size of a reading.
const rowBytes = 1070

// places are where the nodes listen, at least one, as the machine of the load reaches them.
func (i *iot) places(env workload.Env) ([]cql.Target, error) {
	if env.Target == nil {
		return nil, errors.New("the workload cql-iot requires a database: add the service cassandra to the study")
	}
	at, err := env.Target(protocol)
	if err != nil {
		return nil, fmt.Errorf("find a database: %w", err)
	}
	targets, err := wire.Targets(at, env.Dial)
	all := make([]cql.Target, len(targets))
	for n, t := range targets {
		all[n] = cql.Target{Target: t, Version: cql.Version(i.Protocol)}
	}
	return all, err
}

// Check queries the nodes if they run already.
func (i *iot) Check(ctx context.Context, env workload.Env) (workload.Needs, error) {
	if _, err := newReadings(i.Parameters, 0); err != nil {
		return workload.Needs{}, err
	}
	size := int64(i.Rampup) * rowBytes * int64(i.Replication)
	needs := workload.Needs{Time: time.Duration(float64(i.Rampup) / 8000 * float64(time.Second))}
	if env.Target == nil {
		needs.Served = size
		return needs, nil // it will be started
	}
	nodes, err := i.places(env)
	if err != nil {
		return workload.Needs{}, err
	}
	c, err := join(ctx, nodes, 0)
	if err != nil {
		return workload.Needs{}, err
	}
	defer c.Close()
	for n := range nodes[1:] {
		other, err := join(ctx, nodes, 1+n)
		if err != nil {
			return workload.Needs{}, err
		}
		other.Close()
	}
	rows, err := c.Query(ctx, "SELECT keyspace_name FROM system_schema.keyspaces")
	if err != nil {
		return workload.Needs{}, fmt.Errorf("list the keyspaces of the server: %w", err)
	}
	if len(rows) == 0 {
		return workload.Needs{}, errors.New("the user may not list keyspaces: GRANT CREATE ON ALL KEYSPACES there")
	}
	needs.Changes = []string{fmt.Sprintf("makes the keyspace %s on the server, of %s, and removes it", keyspace, parameter.Bytes(size))}
	return needs, nil
}
