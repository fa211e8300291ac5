// Package routine drives a load from goroutines, several for a connection, over
// whatever Go offers: TLS, client libraries, any system. It counts as the load core
// (package socket) does, costs more for an operation, and keeps instants as well as
// Go's scheduler lets it; its lag histogram says how well that was.
//
// A group stands for a measuring thread: it has its own connections, its own share
// of the schedule and one lock, under which all of its dialogues and its sheet are
// used. A user is a goroutine that does one operation after the other.
package routine

import (
	"context"
	"crypto/tls"
	"errors"
	"sync"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/pace"
	"plimsoll/internal/load/tally"
	"plimsoll/internal/measure"
)

const (
	lastWait = 500 * time.Millisecond
	// manners is how long a client library may take to see that it was cancelled. One
	// that takes longer is left behind.
	manners = 100 * time.Millisecond
)

// Run runs the load until its stage is over or the recorder has enough. What the
// peer does is counted and ends nothing; the error is for a load that cannot
// start. It never goes on longer than the stage, the time-out of an operation and
// a second.
func Run(ctx context.Context, job load.Job, out *measure.Recorder) error {
	job, err := job.Complete()
	switch {
	case err != nil:
		return err
	case (job.Dialogue == nil) == (job.Caller == nil):
		return errors.New("a load requires a dialogue or a caller")
	case job.Caller != nil && job.Window > 1:
		return errors.New("a caller has one operation in flight: its window must be 1")
	}
	e := &engine{job: job, book: tally.New(job, job.Threads, out)}
	if job.Caller == nil {
		if e.dialers, err = newDialers(ctx, job); err != nil {
			return err
		}
	}
	if job.Open() && job.Tick == 0 {
		if e.spin, err = pace.Calibrate(ctx); err != nil {
			return err
		}
	}
	ctx, e.cancel = context.WithCancelCause(ctx)
	defer e.cancel(nil)
	if err := e.furnish(ctx); err != nil {
		e.leave()
		if cause := context.Cause(ctx); cause != nil {
			return cause // a dialer only reports the cancellation
		}
		return tally.Advised(err)
	}
	e.observe(out)
	return e.run(ctx)
}

// observe takes down which TLS the connections of the load have.
func (e *engine) observe(out *measure.Recorder) {
	for _, d := range e.groups {
		for _, c := range d.clients {
			if s, ok := c.(*session); ok {
				if t, ok := s.wire.Conn.(secured); ok {
					version := tls.VersionName(t.ConnectionState().Version)
					if e.job.TLS.InsecureSkipVerify {
						version += ", with a certificate that nobody looked at"
					}
					out.Observe("connections.tls", version)
				}
				return
			}
		}
	}
}

// engine is a load under way.
type engine struct {
	job     load.Job
	book    *tally.Book
	dialers []*dialer // one for each address; nil with callers
	spin    time.Duration
	cancel  context.CancelCauseFunc
	groups  []*group
	running sync.WaitGroup // groups, users and connections
}

// furnish makes the groups and their connections, not so many at once that the
// peer's queue of new ones overflows.
func (e *engine) furnish(ctx context.Context) error {
	const atOnce = 32
	for i := range e.job.Threads {
		e.groups = append(e.groups, newGroup(e, i))
	}
	for begin := 0; begin < e.job.Connections; begin += atOnce {
		n := min(atOnce, e.job.Connections-begin)
		ended := make(chan error, n)
		for i := range n {
			d := e.groups[(begin+i)%len(e.groups)]
			go func() { ended <- d.connect(ctx, begin+i) }()
		}
		var first error
		for range n {
			if err := <-ended; first == nil {
				first = err
			}
		}
		if first != nil {
			return first
		}
	}
	return nil
}

func (e *engine) run(ctx context.Context) error {
	clock := pace.At(time.Now())
	for _, d := range e.groups {
		d.open(ctx, clock)
	}
	err := e.book.Keep(ctx)
	e.cancel(nil)
	e.leave()
	return err
}

// leave closes what is open and waits for all goroutines, except that a client
// library is waited for only so long.
func (e *engine) leave() {
	over := make(chan struct{})
	go func() {
		defer close(over)
		e.running.Wait()
		for _, d := range e.groups {
			d.leave()
		}
	}()
	if e.job.Caller == nil {
		<-over
		return
	}
	select {
	case <-over:
	case <-time.After(manners):
	}
}
