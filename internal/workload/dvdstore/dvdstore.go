// Package dvdstore is a workload of an online shop, with the tables, the data and the
// behaviour of DVD Store 3.5: users log in or register, browse, read reviews and buy,
// on PostgreSQL or MariaDB, over our own clients of their wire protocols.
//
// An operation is one call of a function in the database, and an order is the calls of
// a user from the login to the purchase. What is published as one test with known
// flaws is the mode faithful; in the mode sound they are mended. The server's own
// statistics are held against what the load asked for, and the data that it leaves
// behind against what it was told.
package dvdstore

import (
	"context"
	"errors"
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
	Mode         string             `name:"mode" doc:"sound, or faithful: as published, with its flaws" choices:"sound,faithful"`
	Size         parameter.Bytes    `name:"size" doc:"class of size: 10MB, 1GB and 100GB are those that are published, others lie on the line from the class below; the data is much larger" min:"20kB" max:"100GB"`
	PerProduct   int                `name:"reviews_per_product" doc:"reviews of each product at the beginning, with 21 ratings each on average" min:"1" max:"100"`
	Reset        bool               `name:"reset" doc:"every trial begins with the same data, copied from a database that is kept beside; without it, each goes on where the last one ended"`
	Loaders      int                `name:"loaders" doc:"sessions that fill the tables at once" min:"1" max:"64"`
	Connections  int                `name:"connections" doc:"users, each with a session of its own; of each server where the service has several" min:"1" max:"10000"`
	Think        parameter.Duration `name:"think" doc:"mean pause of a user after an order, drawn from 0 to twice as much"`
	NewCustomers parameter.Share    `name:"new_customers" doc:"share of the orders whose user registers instead of logging in" max:"100%"`
	NewMembers   parameter.Share    `name:"new_members" doc:"share of the orders whose user becomes a member" max:"100%"`
	Searches     int                `name:"searches" doc:"searches for products in an order, on average: by category, actor or title" min:"1" max:"50"`
	Batch        int                `name:"batch" doc:"products that a search asks for, on average" min:"1" max:"50"`
	Depth        int                `name:"depth" doc:"reviews that a search for reviews looks at" min:"1" max:"10000"`
	Reviews      int                `name:"reviews" doc:"searches for reviews, and readings of a product's reviews, in an order, each on average; 0 is the second version of the shop, without reviews and members" max:"50"`
	NewReviews   parameter.Share    `name:"new_reviews" doc:"share of the orders whose user writes a review" max:"100%"`
	Ratings      parameter.Share    `name:"ratings" doc:"share of the orders whose user rates a review" max:"100%"`
	Lines        int                `name:"lines" doc:"lines of an order, on average; ten at most" min:"1" max:"10"`
	Retries      int                `name:"retries" doc:"how often the victim of a deadlock is tried again" max:"1000"`
	Verify       bool               `name:"verify" doc:"look after each trial whether the data is what the load was told"`

	engine.Pace `rate:"calls offered per second in all, each the next of a user who waits; without it users go on as fast as they can; to each server where the service has several" timeout:"how long a call may take; a connection with one that takes longer is closed" tick:"how long a thread may sleep beyond the instant at which a call is due, for less CPU time; 0s spins just before the instant"`
}

func defaults() Parameters {
	return Parameters{
		Mode: sound, Size: 10e6, PerProduct: 20, Reset: true, Loaders: 4, Connections: 8,
		NewCustomers: .2, NewMembers: .01, Searches: 3, Batch: 5, Depth: 500, Reviews: 3, NewReviews: .05, Ratings: .1, Lines: 5,
		Retries: 10, Verify: true,
		Pace: engine.UsualPace(),
	}
}

const (
	sound    = "sound"
	faithful = "faithful"
)

// Kind is the workload as the catalog lists it.
func Kind() workload.Kind {
	return workload.Define(workload.Kind{
		Name:    "dvdstore",
		Doc:     "an online shop on PostgreSQL or MariaDB, after DVD Store 3.5",
		Rate:    "calls",
		Metrics: metrics(),
		Speaks:  engine.Protocols(),
		Spreads: true,
		Own:     true,
	}, defaults(), build)
}

func build(p Parameters) (workload.Load, error) {
	if p.Rate > 0 && p.Think > 0 {
		return nil, errors.New("rate and think exclude each other: what is offered at a rate does not wait for a user")
	}
	offered, err := p.Offered()
	return &store{Parameters: p, arrivals: offered}, err
}

type store struct {
	Parameters
	arrivals load.Arrivals
}

func (d *store) faithful() bool { return d.Mode == faithful }

// Demand is what the load asks of the database. A user pauses after an order, which is
// so much of a pause for each of its calls.
func (d *store) Demand() load.Demand {
	calls := 0.
	for _, n := range d.mix() {
		calls += n
	}
	demand := load.Demand{Concurrency: d.Connections, Rate: float64(d.Rate), Think: time.Duration(float64(d.Think) / calls), Drawn: calls}
	for c, n := range d.mix() {
		demand.Classes = append(demand.Classes, load.Class{Name: names[c], Share: n / calls})
	}
	return demand
}

// Check has a word with the server, where one runs already.
func (d *store) Check(ctx context.Context, env workload.Env) (workload.Needs, error) {
	// One loader and its session make some 15 MiB a second, indexes included.
	return dataset.Needs(ctx, env, d.data, float64(d.size().bytes()), 15<<20)
}

// own are the metrics that operations and schedules in general do not have.
func own() []measure.Metric {
	return []measure.Metric{
		{Name: "order.mean", Unit: "s", Doc: "mean time from the first call of an order to the end of its purchase, over the whole load; not at a rate", Better: measure.LowerIsBetter},
		{Name: "order.max", Unit: "s", Doc: "longest such time", Better: measure.LowerIsBetter},
		{Name: "calls_per_order", Unit: "1", Doc: "calls of an order"},
		{Name: "short", Unit: "1", Doc: "share of the purchases that found too little in stock; faithful counts them as orders", Better: measure.LowerIsBetter},
		{Name: "lost_sales", Unit: "1", Doc: "share of the pieces in order lines that the inventory does not count as sold", Better: measure.LowerIsBetter},
		{Name: "found", Unit: "1", Doc: "share of the searches for products and reviews that found something", Better: measure.HigherIsBetter},
		{Name: "retries", Unit: "1", Doc: "calls that were tried again, for each that was done", Better: measure.LowerIsBetter},
	}
}

// metrics begins with the rate of purchases: sixty times it are orders per minute.
func metrics() []measure.Metric {
	all := slices.Concat(measure.OperationMetrics("calls", names[:]...), measure.ScheduleMetrics(names[:]...), own(), measure.ClientMetrics("call"))
	return measure.Foremost(names[purchase]+".calls", all)
}
