package load

import (
	"errors"
	"fmt"
	"time"
)

// defaultTimeout is the time limit of an operation without one in the job.
const defaultTimeout = 10 * time.Second

// Complete sets the defaults of a job, and returns an error for an invalid one.
func (j Job) Complete() (Job, error) {
	j.Connections, j.Window = max(1, j.Connections)*(1+len(j.More)), max(1, j.Window)
	j.Arrivals.Rate *= float64(1 + len(j.More))
	j.Threads = min(max(1, j.Threads), j.Connections)
	if j.Timeout <= 0 {
		j.Timeout = defaultTimeout
	}
	switch {
	case j.Stage.Length <= 0 || j.Stage.Interval <= 0:
		return j, errors.New("a stage needs a length and an interval")
	case j.Fresh && j.Window > 1:
		return j, errors.New("a connection per operation allows only one operation in flight")
	case j.Tick < 0 || j.MaxLag < 0:
		return j, errors.New("tick and max_lag must not be negative")
	case j.Open() && j.Think.Mean > 0:
		return j, errors.New("rate and think are mutually exclusive: an open loop does not wait")
	case len(j.More) > 0 && j.Caller != nil:
		return j, errors.New("a load with a client library uses one address")
	case len(j.More) > 0 && j.TLS != nil && j.TLS.ServerName != "":
		return j, errors.New("several servers cannot have one server name: omit it")
	case j.Caller == nil && j.Network != "tcp" && j.Network != "udp" && j.Network != "unix":
		return j, fmt.Errorf("unknown network %q: must be tcp, udp or unix", j.Network)
	}
	return j, errors.Join(j.Arrivals.Validate(), j.Think.Validate())
}
