package engine

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
)

func TestPace(t *testing.T) {
	p := UsualPace()
	if a, err := p.Offered(); err != nil || a.Rate != 0 || a.Poisson || a.Shape != nil {
		t.Errorf("without a rate: %+v, %v", a, err)
	}
	p.Rate, p.Arrivals, p.Shape, p.MaxLag = 5, "poisson", "ramp to 5 over 60s", parameter.Duration(time.Second)
	a, err := p.Offered()
	if err != nil || a.Rate != 5 || !a.Poisson || a.Shape == nil {
		t.Errorf("with one: %+v, %v", a, err)
	}
	job := p.Paced(load.Job{Connections: 7, Arrivals: a})
	if job.Connections != 7 || job.Arrivals.Rate != 5 || job.Threads != 1 || job.Tick != tick || job.Timeout != 10*time.Second || job.MaxLag != time.Second {
		t.Errorf("the load is %+v", job)
	}
	p.Shape = "uphill"
	if _, err := p.Offered(); err == nil || !strings.Contains(err.Error(), "shape: ") {
		t.Errorf("got %v", err)
	}
	p.Rate = 0
	if _, err := p.Offered(); err == nil || !strings.Contains(err.Error(), "give the rate that changes") {
		t.Errorf("got %v", err)
	}
}
