package workload_test

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
)

func TestPace(t *testing.T) {
	t.Parallel()
	p := workload.UsualPace(10 * time.Second)
	o, err := p.Offered()
	if err != nil || o.Open() || !o.Saturates() || o.Arrivals.Poisson || o.Arrivals.Shape != nil {
		t.Errorf("without a rate: %+v, %v", o, err)
	}
	p.Think = parameter.Duration(time.Second)
	if o, err = p.Offered(); err != nil || o.Saturates() || o.Paced(load.Job{}).Think.Mean != time.Second || o.Demand(3).Think != time.Second {
		t.Errorf("with think time: %+v, %v", o, err)
	}
	p.Think, p.Rate, p.Arrivals, p.Shape, p.MaxLag = 0, 5, "poisson", "ramp to 5 over 60s", parameter.Duration(time.Second)
	if o, err = p.Offered(); err != nil || !o.Open() || o.Saturates() || !o.Arrivals.Poisson || o.Arrivals.Shape == nil {
		t.Errorf("with a rate: %+v, %v", o, err)
	}
	job := o.Paced(load.Job{Connections: 7})
	if job.Connections != 7 || job.Arrivals.Rate != 5 || job.Threads != 1 || job.Timeout != 10*time.Second || job.MaxLag != time.Second {
		t.Errorf("the load is %+v", job)
	}
	if d := o.Demand(7, load.Class{Share: 1}); d.Concurrency != 7 || d.Rate != 5 || len(d.Classes) != 1 {
		t.Errorf("the demand is %+v", d)
	}
}

func TestPaceRefuses(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(p *workload.Pace){
		"shape: ":                               func(p *workload.Pace) { p.Rate, p.Shape = 5, "uphill" },
		"shape requires rate":                   func(p *workload.Pace) { p.Shape = "ramp to 5 over 60s" },
		"rate and think are mutually exclusive": func(p *workload.Pace) { p.Rate, p.Think = 5, 1 },
		"rate and trace are mutually exclusive": func(p *workload.Pace) { p.Rate, p.Trace = 5, "arrivals.txt" },
		"omit shape and arrivals":               func(p *workload.Pace) { p.Trace, p.Arrivals = "arrivals.txt", "poisson" },
	} {
		p := workload.UsualPace(time.Second)
		change(&p)
		if _, err := p.Offered(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v; want %s", err, want)
		}
	}
}
