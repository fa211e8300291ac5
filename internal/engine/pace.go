package engine

import (
	"errors"
	"fmt"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
)

// Pace is what a study may set of how a load goes, in the parameters of each: by how many
// threads it is made, when its transactions are due, and how long they may take.
type Pace struct {
	Threads  int                `name:"threads" doc:"load-generator threads, each with its own connections; at most one per connection" min:"1" max:"1024"`
	Rate     parameter.Rate     `name:"rate" doc:"offered load in transactions per second, in total per server; empty is a closed loop"`
	Arrivals string             `name:"arrivals" doc:"arrival process of an offered load" choices:"constant,poisson"`
	Shape    string             `name:"shape" doc:"load profile in multiples of the rate, such as ramp to 5 over 60s"`
	Timeout  parameter.Duration `name:"timeout" doc:"transaction timeout; a session with a timeout is closed" min:"100ms"`
	Tick     parameter.Duration `name:"tick" doc:"timer granularity: transactions due within a tick are sent together, which saves CPU time; 0s busy-waits for each" max:"1s"`
	MaxLag   parameter.Duration `name:"max_lag" doc:"abandon operations that start more than this late; 0s abandons none"`
}

// tick is short beside a transaction, and lets the thread that keeps the schedule sleep:
// it then comes before the sessions of a server on the same machine.
const tick = 500 * time.Microsecond

// UsualPace is that of loads of which a study says nothing.
func UsualPace() Pace {
	return Pace{Threads: 1, Arrivals: "constant", Timeout: parameter.Duration(10 * time.Second), Tick: parameter.Duration(tick)}
}

// Offered is when transactions are due: never, where no rate is set. Its errors are
// mistakes of the study.
func (p Pace) Offered() (load.Arrivals, error) {
	a := load.Arrivals{Rate: float64(p.Rate), Poisson: p.Rate > 0 && p.Arrivals == "poisson"}
	if p.Shape != "" {
		if p.Rate == 0 {
			return a, errors.New("shape: give the rate that changes")
		}
		var err error
		if a.Shape, err = load.ParseShape(p.Shape); err != nil {
			return a, fmt.Errorf("shape: %w", err)
		}
	}
	return a, a.Validate()
}

// Paced is a load that goes so. When its transactions are due it knows itself.
func (p Pace) Paced(job load.Job) load.Job {
	job.Threads, job.Tick, job.Timeout, job.MaxLag = p.Threads, time.Duration(p.Tick), time.Duration(p.Timeout), time.Duration(p.MaxLag)
	return job
}
