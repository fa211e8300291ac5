package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"plimsoll/internal/hoststat"
)

// Order is what Serve reads first.
type Order struct {
	Every   float64  `json:"every"`             // seconds between readings
	Share   float64  `json:"share"`             // see Follower
	Members []string `json:"members,omitempty"` // see hoststat.Reader
}

// Report is a line that Serve writes: the facts first, then one for each interval.
type Report struct {
	Facts    *hoststat.Facts    `json:"facts,omitempty"`
	Interval *hoststat.Interval `json:"interval,omitempty"`
}

// Serve follows the host for a lab at the other end: it reads an Order, and writes Reports until
// it is stopped.
func Serve(parent int, stop <-chan struct{}, in io.Reader, out io.Writer) error {
	var o Order
	if err := json.NewDecoder(in).Decode(&o); err != nil {
		return fmt.Errorf("read the order from standard input: %w", err)
	}
	if o.Every <= 0 {
		return errors.New("an order without an interval")
	}
	r := hoststat.NewReader(hoststat.Local())
	r.Parent, r.Members = parent, o.Members
	facts, err := r.Facts()
	if err != nil {
		return err
	}
	f := &Follower{Reader: r, Every: time.Duration(o.Every * float64(time.Second)), Share: o.Share}
	f.Begin()
	to := json.NewEncoder(out)
	if err := to.Encode(Report{Facts: facts}); err != nil {
		return err
	}
	f.Run(stop, func(i *hoststat.Interval) {
		if err == nil {
			err = to.Encode(Report{Interval: i})
		}
	})
	return err
}
