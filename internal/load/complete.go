package load

import (
	"errors"
	"fmt"
	"time"
)

// defaultTimeout is how long an operation may take where the job does not say.
const defaultTimeout = 10 * time.Second

// Complete fills in the defaults of a job, for the loops that run it, and refuses
// one that no loop can run.
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
		return j, errors.New("a connection for each operation has no room for more than one")
	case j.Tick < 0 || j.MaxLag < 0:
		return j, errors.New("a tick and the longest lag are not below 0")
	case j.Open() && j.Think.Mean > 0:
		return j, errors.New("a rate and a pause exclude each other: what is offered does not wait for a pause")
	case len(j.More) > 0 && j.Caller != nil:
		return j, errors.New("a load by way of a client library goes to one address")
	case len(j.More) > 0 && j.TLS != nil && j.TLS.ServerName != "":
		return j, errors.New("one name is not that of several servers: leave it to their addresses")
	case j.Caller == nil && j.Network != "tcp" && j.Network != "udp" && j.Network != "unix":
		return j, fmt.Errorf("network %q is not tcp, udp or unix", j.Network)
	}
	return j, errors.Join(j.Arrivals.Validate(), j.Think.Validate())
}
