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
	"slices"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dataset"
)

// Parameters are the settings.
type Parameters struct {
	Mode         string          `name:"mode" doc:"faithful: as published, flaws included; sound: with the flaws corrected" choices:"sound,faithful"`
	Size         parameter.Bytes `name:"size" doc:"nominal database size; 10MB, 1GB and 100GB are the published classes, others are interpolated; the data on disk is much larger" min:"20kB" max:"100GB"`
	PerProduct   int             `name:"reviews_per_product" doc:"initial reviews per product, with 21 ratings each on average" min:"1" max:"100"`
	Reset        bool            `name:"reset" doc:"restore the initial data before each trial, from a template database; off, a trial continues with the data of the previous one"`
	Loaders      int             `name:"loaders" doc:"concurrent sessions that load the tables" min:"1" max:"64"`
	Connections  int             `name:"connections" doc:"users, one database session each, per server" min:"1" max:"10000"`
	NewCustomers parameter.Share `name:"new_customers" doc:"share of orders by newly registered users" max:"100%"`
	NewMembers   parameter.Share `name:"new_members" doc:"share of orders with a new membership" max:"100%"`
	Searches     int             `name:"searches" doc:"mean product searches per order, by category, actor or title" min:"1" max:"50"`
	Batch        int             `name:"batch" doc:"mean products requested per search" min:"1" max:"50"`
	Depth        int             `name:"depth" doc:"reviews examined by a review search" min:"1" max:"10000"`
	Reviews      int             `name:"reviews" doc:"mean review searches per order, and as many reads of a product's reviews; 0 is DVD Store 2, without reviews and members" max:"50"`
	NewReviews   parameter.Share `name:"new_reviews" doc:"share of orders with a new review" max:"100%"`
	Ratings      parameter.Share `name:"ratings" doc:"share of orders with a review rating" max:"100%"`
	Lines        int             `name:"lines" doc:"mean lines per order, at most ten" min:"1" max:"10"`
	Retries      int             `name:"retries" doc:"retries of a call after a deadlock" max:"1000"`
	Verify       bool            `name:"verify" doc:"check after each trial that the data matches the responses"`

	workload.Pace `rate:"offered load in calls per second, in total per server, each the next of a user who waits; empty is a closed loop" think:"mean think time of a user after an order, uniform from 0 to twice the mean" timeout:"call timeout; a session that times out is closed" trace:"-"`
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
		Doc:     "online shop on PostgreSQL or MariaDB, after DVD Store 3.5",
		Rate:    "calls",
		Metrics: metrics(),
		Speaks:  engine.Protocols(),
		Spreads: true,
		Own:     true,
	}, defaults(), build)
}

func build(p Parameters) (workload.Load, error) {
	offer, err := p.Offered()
	return &store{Parameters: p, offer: offer}, err
}

type store struct {
	Parameters
	offer workload.Offer
}

func (p Parameters) faithful() bool { return p.Mode == faithful }

// Demand is what the load asks of the database. A user pauses after an order, which is
// so much of a pause for each of its calls.
func (d *store) Demand() load.Demand {
	calls := 0.
	for _, n := range d.mix() {
		calls += n
	}
	demand := d.offer.Demand(d.Connections)
	demand.Think, demand.Drawn = time.Duration(float64(d.Think)/calls), calls
	for c, n := range d.mix() {
		demand.Classes = append(demand.Classes, load.Class{Name: names[c], Share: n / calls})
	}
	return demand
}

// Check communicates with the server, where one runs already.
func (d *store) Check(ctx context.Context, env workload.Env) (workload.Needs, error) {
	// One loader and its session make some 15 MiB a second, indexes included.
	return dataset.Needs(ctx, env, d.data, float64(d.size().bytes()), 15<<20)
}

// own are the metrics that operations and schedules in general do not have.
func own() []measure.Metric {
	return []measure.Metric{
		{Name: "order.mean", Unit: "s", Doc: "mean duration of an order, first call to purchase, over the whole load; absent with a rate", Better: measure.LowerIsBetter},
		{Name: "order.max", Unit: "s", Doc: "longest duration of an order", Better: measure.LowerIsBetter},
		{Name: "calls_per_order", Unit: "1", Doc: "calls per order"},
		{Name: "short", Unit: "1", Doc: "share of purchases with insufficient stock; mode faithful counts them as orders", Better: measure.LowerIsBetter},
		{Name: "lost_sales", Unit: "1", Doc: "share of ordered items missing from the inventory's sales", Better: measure.LowerIsBetter},
		{Name: "found", Unit: "1", Doc: "share of product and review searches with a result", Better: measure.HigherIsBetter},
		{Name: "retries", Unit: "1", Doc: "retries per completed call", Better: measure.LowerIsBetter},
	}
}

// metrics begins with the rate of purchases: sixty times it are orders per minute.
func metrics() []measure.Metric {
	all := slices.Concat(measure.OperationMetrics("calls", names[:]...), measure.ScheduleMetrics(names[:]...), own(), measure.ClientMetrics("call"))
	return measure.Foremost(names[purchase]+".calls", all)
}
