// Package routine runs a load on goroutines, several per connection, with everything that Go
// supports: TLS, client libraries, any system. It counts as the load core (package socket)
// does, with a higher cost per operation and the accuracy of Go's scheduler, which the lag
// histogram shows.
//
// A group corresponds to a measuring thread: it has its own connections, its own part of the
// schedule and one lock for its dialogues and its sheet. A user is a goroutine that performs
// operations one by one.
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
	// manners is the time that a client library has to react to a cancellation, after which it
	// is abandoned.
	manners = 100 * time.Millisecond
)

// Run runs the load until its stage is over or the recorder has enough. Failures of the peer
// are counted; the error is for a load that cannot start. It never takes longer than the
// stage, the timeout of an operation and a second.
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
	if err := e.prepare(ctx); err != nil {
		e.leave()
		if cause := context.Cause(ctx); cause != nil {
			return cause // a dialer only reports the cancellation
		}
		return tally.Advised(err)
	}
	e.observe(out)
	return e.run(ctx)
}

// observe records the TLS parameters of the connections.
func (e *engine) observe(out *measure.Recorder) {
	for _, d := range e.groups {
		for _, c := range d.clients {
			if s, ok := c.(*session); ok {
				if t, ok := s.wire.Conn.(secured); ok {
					version := tls.VersionName(t.ConnectionState().Version)
					if e.job.TLS.InsecureSkipVerify {
						version += ", with an unverified certificate"
					}
					out.Observe("connections.tls", version)
				}
				return
			}
		}
	}
}

// engine is a load in progress.
type engine struct {
	job     load.Job
	book    *tally.Merger
	dialers []*dialer // one for each address; nil with callers
	spin    time.Duration
	cancel  context.CancelCauseFunc
	groups  []*group
	running sync.WaitGroup // groups, users and connections
}

// prepare creates the groups and their connections, limiting concurrent connects to the peer's
// backlog.
func (e *engine) prepare(ctx context.Context) error {
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

// leave closes all connections and waits for all goroutines; for client libraries only for a
// limited time.
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
