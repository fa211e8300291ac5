// Package orderentry is a workload of a wholesaler's order entry, derived from TPC-C
// and not comparable to its results: five transactions on nine tables of PostgreSQL or
// MariaDB, over our own clients of their wire protocols.
//
// A transaction is a few round trips of pipelined prepared statements. What the
// load asked for is counted and held against the rules it is to follow, and the data
// that it leaves behind against the conditions of consistency.
package orderentry

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
	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dataset"
)

// Parameters are what a study may set.
type Parameters struct {
	Warehouses  int             `name:"warehouses" doc:"warehouses, about 115 MiB each" min:"1" max:"100000"`
	Items       int             `name:"items" doc:"items, and stock rows per warehouse; fewer than 100000 change the shape of the data" min:"10" max:"100000"`
	Customers   int             `name:"customers" doc:"customers and initial orders per district, ten districts per warehouse; fewer than 3000 change the shape of the data" min:"10" max:"3000"`
	Reset       bool            `name:"reset" doc:"restore the initial data before each trial, from a template database; off, a trial continues with the data of the previous one"`
	Loaders     int             `name:"loaders" doc:"concurrent sessions that load the tables" min:"1" max:"64"`
	Connections int             `name:"connections" doc:"database sessions, per server" min:"1" max:"10000"`
	Terminals   int             `name:"terminals" doc:"emulated terminals, spread evenly over the sessions, per server; 0 is one per session" max:"10000000"`
	Waits       parameter.Share `name:"waits" doc:"keying and think times, as a share of the specification's; 0% disables them"`
	Home        string          `name:"home" doc:"home warehouse of a transaction: any, or fixed per connection" choices:"any,connection"`
	Isolation   string          `name:"isolation" doc:"transaction isolation level" choices:"read committed,repeatable read,serializable"`
	Retries     int             `name:"retries" doc:"retries of a transaction after a deadlock or serialization failure" max:"1000"`
	Verify      bool            `name:"verify" doc:"check the consistency of the data after each trial"`

	workload.Pace `rate:"offered load in transactions per second, in total per server; empty is a closed loop" timeout:"transaction timeout; a session that times out is closed" think:"-" trace:"-"`
}

func defaults() Parameters {
	return Parameters{
		Warehouses: 1, Items: 100_000, Customers: 3000, Reset: true, Loaders: 4, Connections: 8, Home: "any",
		Isolation: "read committed", Retries: 10, Verify: true, Pace: engine.UsualPace(),
	}
}

// database is the one that is worked on.
const database = "plimsoll_order_entry"

// Kind is the workload as the catalog lists it.
func Kind() workload.Kind {
	return workload.Define(workload.Kind{
		Name:    "order-entry",
		Doc:     "order entry of a wholesale supplier on PostgreSQL or MariaDB, derived from TPC-C and not comparable to it",
		Rate:    "transactions",
		Metrics: metrics(),
		Speaks:  engine.Protocols(),
		Own:     true,
		Spreads: true,
	}, defaults(), build)
}

func build(p Parameters) (workload.Load, error) {
	window := 1
	if p.Terminals > 0 {
		window = (p.Terminals + p.Connections - 1) / p.Connections
	}
	for _, c := range []struct {
		wrong bool
		why   string
	}{
		{p.Rate > 0 && p.Waits > 0, "rate and waits exclude each other: what is offered at a rate does not wait for a user"},
		{p.Rate > 0 && p.Terminals > 0, "rate and terminals exclude each other: what is offered at a rate has no users"},
		{p.Terminals > 0 && p.Terminals%p.Connections != 0, fmt.Sprintf("%d terminals cannot share %d connections evenly", p.Terminals, p.Connections)},
		{p.Waits > 10, "waits: at most 1000%"},
	} {
		if c.wrong {
			return nil, errors.New(c.why)
		}
	}
	offer, err := p.Offered()
	return &orderEntry{Parameters: p, window: window, offer: offer}, err
}

type orderEntry struct {
	Parameters
	window int // users of a connection
	offer  workload.Offer
}

func (o *orderEntry) size() size {
	return size{warehouses: o.Warehouses, items: o.Items, customers: o.Customers}
}

// The keying times and the means of the think times of clause 5.2.5.7, in seconds.
var (
	keying   = [kinds]float64{18, 3, 2, 2, 2}
	thinking = [kinds]float64{12, 12, 10, 5, 5}
)

// pause is the mean of what a user takes between two transactions.
func (o *orderEntry) pause() time.Duration {
	sum := 0.
	for k, share := range deck {
		sum += float64(share) / 100 * (keying[k] + thinking[k])
	}
	return time.Duration(sum * float64(o.Waits) * float64(time.Second))
}

// Demand is what the load asks of the database.
func (o *orderEntry) Demand() load.Demand {
	d := o.offer.Demand(o.Connections * o.window)
	d.Think, d.Drawn = o.pause(), 1
	for k, share := range deck {
		d.Classes = append(d.Classes, load.Class{Name: names[k], Share: float64(share) / 100})
	}
	return d
}

// Check communicates with the server, where one runs already.
func (o *orderEntry) Check(ctx context.Context, env workload.Env) (workload.Needs, error) {
	// A warehouse of full size takes some 8 s of one loader and its session.
	size := bytesPerWarehouse / 100_000 * float64(o.Warehouses) * (float64(o.Items)*.36 + float64(o.Customers)*33*.64)
	return dataset.Needs(ctx, env, o.data, size, 20<<20)
}

// own are the metrics that operations and schedules in general do not have.
func own() []measure.Metric {
	return []measure.Metric{
		{Name: "district.new_orders", Unit: "1/s", Doc: "New-Order transactions committed per second over the whole load, from the district counters", Better: measure.HigherIsBetter},
		{Name: "retries", Unit: "1", Doc: "retries per completed transaction", Better: measure.LowerIsBetter},
		{Name: "skipped", Unit: "1", Doc: "share of districts skipped by deliveries, without an undelivered order", Better: measure.LowerIsBetter},
	}
}

// metrics begins with the rate of new orders, which is what order entry is about.
func metrics() []measure.Metric {
	all := slices.Concat(measure.OperationMetrics("transactions", names[:]...), measure.ScheduleMetrics(names[:]...), own(), measure.ClientMetrics("transaction"))
	return measure.Foremost(names[newOrder]+".transactions", all)
}
