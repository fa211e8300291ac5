package workload

import (
	"errors"
	"fmt"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
)

// Pace is what a study may set of when operations start and how long they may take. Loads
// embed it in their parameters; a tag of the embedding replaces the doc of a setting, or
// leaves it out.
type Pace struct {
	Threads  int                `name:"threads" doc:"load-generator threads, each with its own connections; at most one per connection" min:"1" max:"1024"`
	Rate     parameter.Rate     `name:"rate" doc:"offered load in operations per second, in total per server; empty is a closed loop"`
	Arrivals string             `name:"arrivals" doc:"arrival process of an offered load" choices:"constant,poisson"`
	Shape    string             `name:"shape" doc:"load profile in multiples of the rate, such as ramp to 5 over 60s, steps 1 for 10s, 2 for 10s or sine 20% every 10s"`
	Trace    string             `name:"trace" doc:"file of arrival times, instead of a rate: seconds since the start of the load, one per line, ascending"`
	Think    parameter.Duration `name:"think" doc:"think time between a response and the next operation in its slot"`
	Timeout  parameter.Duration `name:"timeout" doc:"response timeout; a connection that times out is closed" min:"1ms"`
	Tick     parameter.Duration `name:"tick" doc:"timer granularity: operations due within a tick are sent together, which saves CPU time; 0s busy-waits for each" max:"1s"`
	MaxLag   parameter.Duration `name:"max_lag" doc:"abandon operations that start more than this late; 0s abandons none"`
}

// ControlPace is that of loads on control planes, whose operations take milliseconds to minutes: one that starts within
// 10 ms of its due time starts on time.
func ControlPace(timeout time.Duration) Pace {
	p := UsualPace(timeout)
	p.Tick = parameter.Duration(10 * time.Millisecond)
	return p
}

// UsualPace is that of loads of which a study says nothing.
func UsualPace(timeout time.Duration) Pace {
	return Pace{Threads: 1, Arrivals: "constant", Timeout: parameter.Duration(timeout)}
}

// Offer is a pace that was checked.
type Offer struct {
	Arrivals load.Arrivals   // without the instants of the trace
	Trace    *load.TraceFile // nil without one
	pace     Pace
}

// Offered checks settings that exclude each other. Arrivals may be set without a rate: a
// search for a peak has rates of its own.
func (p Pace) Offered() (Offer, error) {
	o := Offer{pace: p, Arrivals: load.Arrivals{Rate: float64(p.Rate), Poisson: (p.Rate > 0 || p.Trace != "") && p.Arrivals == "poisson"}}
	switch {
	case p.Rate > 0 && p.Think > 0:
		return o, errors.New("rate and think are mutually exclusive: an open loop does not wait for responses")
	case p.Rate == 0 && p.Trace == "" && p.Shape != "":
		return o, errors.New("shape requires rate")
	}
	var err error
	if p.Shape != "" {
		if o.Arrivals.Shape, err = load.ParseShape(p.Shape); err != nil {
			return o, fmt.Errorf("shape: %w", err)
		}
	}
	if o.Trace, err = load.NameTrace(p.Trace, o.Arrivals, time.Duration(p.Think)); err != nil {
		return o, err
	}
	return o, o.Arrivals.Validate()
}

// Open says that operations are offered on a schedule.
func (o *Offer) Open() bool { return o.Arrivals.Rate > 0 || o.Trace != nil }

// Saturates says that each operation follows the one before it at once.
func (o *Offer) Saturates() bool { return !o.Open() && o.pace.Think == 0 }

// Demand is that of so many operations at once.
func (o *Offer) Demand(concurrency int, classes ...load.Class) load.Demand {
	return load.Demand{Concurrency: concurrency, Rate: o.Arrivals.Rate + o.Trace.Rate(), Think: time.Duration(o.pace.Think), Classes: classes}
}

// Traced is Paced with the instants of the trace. It refuses a file that has changed.
func (o *Offer) Traced(job load.Job) (paced load.Job, err error) {
	paced = o.Paced(job)
	paced.Arrivals, err = o.Trace.Arrivals(paced.Arrivals)
	return paced, err
}

// Paced is a job with the settings of the pace, but for the instants of a trace.
func (o *Offer) Paced(job load.Job) load.Job {
	p := o.pace
	job.Threads, job.Tick, job.Timeout, job.MaxLag = p.Threads, time.Duration(p.Tick), time.Duration(p.Timeout), time.Duration(p.MaxLag)
	job.Arrivals = o.Arrivals
	if p.Think > 0 {
		job.Think.Mean = time.Duration(p.Think)
	}
	return job
}
