// Package oltp is a workload of small transactions on tables of rows that are all
// alike, on PostgreSQL or MariaDB: the statements of sysbench's oltp_point_select, oltp_read_only,
// oltp_read_write and oltp_write_only, over our own clients of their wire protocols.
package oltp

import (
	"context"
	"fmt"
	"slices"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dataset"
)

// Parameters are what a study may set.
type Parameters struct {
	Test        string `name:"test" doc:"sysbench test: oltp_point_select, oltp_read_only, oltp_read_write or oltp_write_only" choices:"point_select,read_only,read_write,write_only"`
	Tables      int    `name:"tables" doc:"number of tables" min:"1" max:"256"`
	Rows        int    `name:"rows" doc:"rows per table, about 230 B each" min:"200" max:"1000000000"`
	Range       int    `name:"range" doc:"rows of a range query" min:"1" max:"10000"`
	Pipeline    bool   `name:"pipeline" doc:"send the statements of a transaction without waiting for responses; off is as sysbench"`
	Loaders     int    `name:"loaders" doc:"concurrent sessions that load the tables" min:"1" max:"64"`
	Connections int    `name:"connections" doc:"database sessions, per server" min:"1" max:"10000"`
	Retries     int    `name:"retries" doc:"retries of a transaction after a deadlock or other conflict" max:"1000"`

	workload.Pace `rate:"offered load in transactions per second, in total per server; empty is a closed loop" think:"think time of a session between transactions" timeout:"transaction timeout; a session that times out is closed" trace:"-"`
}

func defaults() Parameters {
	return Parameters{
		Test: pointSelect, Tables: 1, Rows: 100_000, Range: 100, Loaders: 4, Connections: 8, Retries: 10,
		Pace: engine.UsualPace(),
	}
}

const (
	database    = "plimsoll_oltp"
	pointSelect = "point_select"
)

// Kind is the workload as the catalog lists it.
func Kind() workload.Kind {
	return workload.Define(workload.Kind{
		Name:    "oltp",
		Doc:     "sysbench's OLTP transactions on PostgreSQL or MariaDB",
		Rate:    "transactions",
		Metrics: slices.Concat(measure.OperationMetrics("transactions"), measure.ScheduleMetrics(), own(), measure.ClientMetrics("transaction")),
		Speaks:  engine.Protocols(),
		Own:     true,
		Spreads: true,
	}, defaults(), build)
}

// own are the metrics that operations and schedules in general do not have.
func own() []measure.Metric {
	return []measure.Metric{
		{Name: "statements", Unit: "1", Doc: "statements per transaction, without BEGIN and COMMIT"},
		{Name: "retries", Unit: "1", Doc: "retries per completed transaction", Better: measure.LowerIsBetter},
	}
}

func build(p Parameters) (workload.Load, error) {
	if p.Range > p.Rows {
		return nil, fmt.Errorf("a range of %d exceeds the number of rows, %d", p.Range, p.Rows)
	}
	offer, err := p.Offered()
	return &oltp{Parameters: p, offer: offer}, err
}

type oltp struct {
	Parameters
	offer workload.Offer
}

// Demand is what the load asks of the database.
func (o *oltp) Demand() load.Demand {
	return o.offer.Demand(o.Connections, load.Class{Share: 1})
}

// Check communicates with the server, where one runs already.
func (o *oltp) Check(ctx context.Context, env workload.Env) (workload.Needs, error) {
	// A row takes some 280 B with its keys, and 40 MiB of them are filled in a second.
	return dataset.Needs(ctx, env, o.data, float64(o.Tables)*float64(o.Rows)*280, 40<<20)
}
