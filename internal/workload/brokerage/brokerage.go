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
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"plimsoll/internal/engine"
	"plimsoll/internal/engine/dataset"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
)

// Parameters are what a study may set.
type Parameters struct {
	Customers   int                `name:"customers" doc:"customers, a multiple of 1000, each with five accounts; a smaller multiple of 100 is a smaller test of another shape" min:"100" max:"1000000"`
	Days        int                `name:"days" doc:"days of trade that lie in the data at first, of some 57000 trades and 46 MB for 1000 customers each; fewer than 300 is a smaller test of another shape" min:"1" max:"300"`
	Reset       bool               `name:"reset" doc:"every trial begins with the same data, copied from a database that is kept beside; without it, each goes on where the last one ended"`
	Loaders     int                `name:"loaders" doc:"sessions that fill the tables at once" min:"1" max:"64"`
	Connections int                `name:"connections" doc:"sessions, with each server where the service has several" min:"1" max:"10000"`
	Isolation   string             `name:"isolation" doc:"how transactions are kept apart" choices:"read committed,repeatable read,serializable"`
	Retries     int                `name:"retries" doc:"how often a victim of a deadlock or of a serialization failure is tried again" max:"1000"`
	Verify      bool               `name:"verify" doc:"look after each trial whether the data is consistent"`
	Threads     int                `name:"threads" doc:"threads that make the load, each with its own connections; never more than there are of these" min:"1" max:"1024"`
	Rate        parameter.Rate     `name:"rate" doc:"transactions offered per second in all, to each server where the service has several; without it they go on as fast as they can"`
	Arrivals    string             `name:"arrivals" doc:"how they become due at a rate: evenly, or at random" choices:"constant,poisson"`
	Shape       string             `name:"shape" doc:"how the rate changes over the load, such as ramp to 5 over 60s"`
	Timeout     parameter.Duration `name:"timeout" doc:"how long a transaction may take; a connection with one that takes longer is closed" min:"100ms"`
	Tick        parameter.Duration `name:"tick" doc:"how long a thread may sleep beyond the instant at which a transaction is due, for less CPU time; 0s spins just before the instant" max:"1s"`
	MaxLag      parameter.Duration `name:"max_lag" doc:"what would start later than this after it was due is abandoned; 0s abandons nothing"`
}

func defaults() Parameters {
	return Parameters{
		Customers: unit, Days: 300, Reset: true, Loaders: 4, Connections: 8,
		Isolation: readCommitted, Retries: 10, Verify: true, Threads: 1, Arrivals: "constant", Timeout: parameter.Duration(10 * time.Second), Tick: parameter.Duration(tick),
	}
}

const readCommitted = "read committed"

// tick is short beside a transaction, and lets the thread that keeps the schedule sleep:
// it then comes before the sessions of a server on the same machine.
const tick = 500 * time.Microsecond

// Kind is the workload as the catalog lists it.
func Kind() workload.Kind {
	return workload.Define(workload.Kind{
		Name:    "brokerage",
		Doc:     "a stock broker's office on PostgreSQL or MariaDB, derived from TPC-E and not comparable to it",
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
	case p.Rate == 0 && p.Shape != "":
		return nil, errors.New("shape: give the rate that changes")
	case p.Customers%customersPerBroker != 0 || p.Customers > unit && p.Customers%unit != 0:
		return nil, fmt.Errorf("customers: give a multiple of %d, or a smaller one of %d, not %d", unit, customersPerBroker, p.Customers)
	case z.each() > math.MaxInt32/2/z.accounts():
		return nil, fmt.Errorf("customers and days: %d trades are more than can be numbered", z.trades())
	}
	k := &brokerage{Parameters: p, arrivals: load.Arrivals{Rate: float64(p.Rate), Poisson: p.Rate > 0 && p.Arrivals == "poisson"}}
	if p.Shape != "" {
		var err error
		if k.arrivals.Shape, err = load.ParseShape(p.Shape); err != nil {
			return nil, fmt.Errorf("shape: %w", err)
		}
	}
	return k, k.arrivals.Validate()
}

type brokerage struct {
	Parameters
	arrivals load.Arrivals
}

func (k *brokerage) size() size { return size{k.Customers, k.Days} }

// Demand is what the load asks of the database.
func (k *brokerage) Demand() load.Demand {
	d := load.Demand{Concurrency: k.Connections, Rate: float64(k.Rate)}
	for kind, share := range mix {
		d.Classes = append(d.Classes, load.Class{Name: names[kind], Share: float64(share) / mixSum})
	}
	return d
}

// Check has a word with the server, where one runs already.
func (k *brokerage) Check(ctx context.Context, env workload.Env) (workload.Needs, error) {
	z := k.size()
	bytes := float64(z.trades())*bytesPerTrade + float64(z.securities())*bytesPerSecurity
	return dataset.Needs(ctx, env, k.data, bytes, 20<<20)
}

// own are the metrics that operations and schedules in general do not have.
func own() []measure.Metric {
	return []measure.Metric{
		{Name: "hits", Unit: "1", Doc: "limit orders that a market feed sent to the exchange, for each feed"},
		{Name: "retries", Unit: "1", Doc: "transactions that were tried again, for each that was done", Better: measure.LowerIsBetter},
	}
}

// metrics begins with the rate of trade results, which is what a broker lives from.
func metrics() []measure.Metric {
	all := slices.Concat(measure.OperationMetrics("transactions", names[:]...), measure.ScheduleMetrics(names[:]...), own(), measure.ClientMetrics("transaction"))
	return measure.Foremost(names[tradeResult]+".transactions", all)
}
