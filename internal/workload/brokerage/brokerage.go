// Package brokerage is a workload of a stock broker's office, derived from TPC-E and not
// comparable to its results: seven of its transactions on twenty of its tables, on
// PostgreSQL or MariaDB, over our own clients of their wire protocols.
//
// Customers place orders, an exchange that the load plays itself executes them, and what
// it did is booked: trade results per second are the headline. What the load asked for is
// counted and held against the shares it is to have, and the data that it leaves behind
// against conditions of consistency.
package brokerage

import (
	"context"
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dataset"
)

// Parameters are the settings.
type Parameters struct {
	Customers   int    `name:"customers" doc:"customers, a multiple of 1000, with five accounts each; a multiple of 100 below that changes the shape of the data" min:"100" max:"1000000"`
	Days        int    `name:"days" doc:"initial trade days, each about 57000 trades and 46 MB per 1000 customers; fewer than 300 change the shape of the data" min:"1" max:"300"`
	Reset       bool   `name:"reset" doc:"restore the initial data before each trial, from a template database; off, a trial continues with the data of the previous one"`
	Loaders     int    `name:"loaders" doc:"concurrent sessions that load the tables" min:"1" max:"64"`
	Connections int    `name:"connections" doc:"database sessions, per server" min:"1" max:"10000"`
	Isolation   string `name:"isolation" doc:"transaction isolation level" choices:"read committed,repeatable read,serializable"`
	Retries     int    `name:"retries" doc:"retries of a transaction after a deadlock or serialization failure" max:"1000"`
	Verify      bool   `name:"verify" doc:"check the consistency of the data after each trial"`

	workload.Pace `rate:"offered load in transactions per second, in total per server; empty is a closed loop" timeout:"transaction timeout; a session that times out is closed" think:"-" trace:"-"`
}

// usualDays is a tenth of the days of the specification: data of some five times the memory
// that the services give to pages, so that old trades are looked up on the disk, and filled
// in minutes.
const usualDays = 30

func defaults() Parameters {
	return Parameters{
		Customers: unit, Days: usualDays, Reset: true, Loaders: 4, Connections: 8,
		Isolation: readCommitted, Retries: 10, Verify: true, Pace: engine.UsualPace(),
	}
}

const readCommitted = "read committed"

// Kind is the workload as the catalog lists it.
func Kind() workload.Kind {
	return workload.Define(workload.Kind{
		Name:    "brokerage",
		Doc:     "stock brokerage on PostgreSQL or MariaDB, derived from TPC-E and not comparable to it",
		Rate:    "transactions",
		Metrics: metrics(),
		Speaks:  engine.Protocols(),
		Own:     true,
		Spreads: true,
	}, defaults(), build)
}

func build(p Parameters) (workload.Load, error) {
	z := size{p.Customers, p.Days}
	switch {
	case p.Customers%customersPerBroker != 0 || p.Customers > unit && p.Customers%unit != 0:
		return nil, fmt.Errorf("customers must be a multiple of %d, or of %d below that, not %d", unit, customersPerBroker, p.Customers)
	case z.each() > math.MaxInt32/2/z.accounts():
		return nil, fmt.Errorf("customers and days: %d trades are more than can be numbered", z.trades())
	}
	offer, err := p.Offered()
	return &brokerage{Parameters: p, offer: offer}, err
}

type brokerage struct {
	Parameters
	offer workload.Offer
}

func (k *brokerage) size() size { return size{k.Customers, k.Days} }

// Demand is the demand of the load on the database.
func (k *brokerage) Demand() load.Demand {
	d := k.offer.Demand(k.Connections)
	for kind, share := range mix {
		d.Classes = append(d.Classes, load.Class{Name: names[kind], Share: float64(share) / mixSum})
	}
	return d
}

// Check communicates with the server, where one runs already.
func (k *brokerage) Check(ctx context.Context, env workload.Env) (workload.Needs, error) {
	z := k.size()
	bytes := float64(z.trades())*bytesPerTrade + float64(z.securities())*bytesPerSecurity
	return dataset.Needs(ctx, env, k.data, bytes, 20<<20)
}

// own are the metrics that operations and schedules in general do not have.
func own() []measure.Metric {
	return []measure.Metric{
		{Name: "hits", Unit: "1", Doc: "limit orders sent to the exchange, per market feed"},
		{Name: "retries", Unit: "1", Doc: "retries per completed transaction", Better: measure.LowerIsBetter},
	}
}

// metrics begins with the rate of trade results, the headline.
func metrics() []measure.Metric {
	all := slices.Concat(measure.OperationMetrics("transactions", names[:]...), measure.ScheduleMetrics(names[:]...), own(), measure.ClientMetrics("transaction"))
	return measure.Foremost(names[tradeResult]+".transactions", all)
}
