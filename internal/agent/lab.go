package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/platform"
	"plimsoll/internal/workload"
)

// Late is a value recorded by a worker with a common start time: the delay of its start in
// seconds, by the clock of its machine.
const Late = "start.late"

// Env is the machine of a worker.
type Env struct {
	Machine platform.Machine
	Log     func(string, ...any)
	// Begin, if set, is called when the load is ready, and returns the common start time, by
	// the clock of this process.
	Begin func(ctx context.Context) (time.Time, error)
}

// ErrNoResult reports that a worker exited without a result.
var ErrNoResult = errors.New("the worker exited without a result")

// Run is the lab's side: it starts a worker on the machine, records its measurements and stops
// it when the recorder has enough. It returns an error if the worker dies, violates the
// protocol, or if the load failed.
func Run(ctx context.Context, at Env, job Job, out *measure.Recorder) error {
	m := at.Machine
	carrier, ok := m.(platform.Carrier)
	if !ok {
		return fmt.Errorf("machine %s cannot run a worker of plimsoll: it has no copy of the program", m.Name())
	}
	self, err := carrier.Self(ctx)
	if err != nil {
		return fmt.Errorf("find plimsoll on machine %s: %w", m.Name(), err)
	}
	job.Together = at.Begin != nil
	text, err := json.Marshal(job)
	if err != nil {
		return fmt.Errorf("encode the job of a worker: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, job.Stage.Length+tardy, errors.New("the worker did not end in time"))
	defer cancel()
	l := newListener(out, at.Log, job.Stage)
	waiting, giveUp := context.WithCancel(ctx)
	stdin, begun := at.begin(waiting, text, l)
	result, err := m.Run(ctx, platform.Command{
		Argv: []string{self, Command}, Stdin: stdin, Stdout: l, Worker: true, Stop: l.stop,
	})
	giveUp()
	failed := begun()
	switch {
	case err != nil:
		return fmt.Errorf("run a worker: %w", err)
	case l.err != nil:
		return fmt.Errorf("invalid output of the worker: %w", l.err)
	case l.end != nil && failed != nil:
		return failed
	case l.end == nil:
		return fmt.Errorf("%w: %w", ErrNoResult,
			&workload.ExitError{Program: "plimsoll " + Command, Exit: result.Exit, Signal: result.Signal, OutOfMemory: result.OutOfMemory, Stderr: string(result.Stderr)})
	}
	return l.conclude()
}

// begin is the worker's standard input: its job and, with a common start, the time. The
// returned function waits for the writer.
func (p Env) begin(ctx context.Context, job []byte, l *listener) (stdin io.Reader, wait func() error) {
	if p.Begin == nil {
		return bytes.NewReader(job), func() error { return nil }
	}
	read, write := io.Pipe()
	failed := make(chan error, 1)
	go func() {
		at, err := p.instant(ctx, l)
		if err == nil {
			err = json.NewEncoder(write).Encode(start{at})
		}
		failed <- err
		write.Close()
	}()
	return io.MultiReader(bytes.NewReader(append(job, '\n')), read), func() error {
		read.Close()
		if err := <-failed; err != nil && !errors.Is(err, io.ErrClosedPipe) {
			return fmt.Errorf("start together with the other machines: %w", err)
		}
		return nil
	}
}

// instant is the start time of the load, by the clock of its machine.
func (p Env) instant(ctx context.Context, l *listener) (time.Time, error) {
	select {
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	case <-l.ready: // from here on the worker detects a change of its clock
	}
	offset, from := time.Duration(0), time.Now()
	if c, ok := p.Machine.(platform.Clocked); ok {
		var err error
		if offset, _, err = c.Offset(ctx); err != nil {
			return time.Time{}, fmt.Errorf("read the clock of machine %s: %w", p.Machine.Name(), err)
		}
	}
	at, err := p.Begin(ctx)
	// The clock of this host may have been set since: add the elapsed time to its reading at
	// the comparison.
	return from.Round(0).Add(at.Sub(from) + offset), err
}

// listener records the output of a worker.
type listener struct {
	out   *measure.Recorder
	log   func(string, ...any)
	stop  chan struct{}
	once  sync.Once
	ready chan struct{} // closed once the load is ready
	begun bool
	rest  []byte // of an incomplete line
	watch guard
	end   *end
	err   error
}

func newListener(out *measure.Recorder, log func(string, ...any), stage load.Stage) *listener {
	return &listener{out: out, log: log, stop: make(chan struct{}), ready: make(chan struct{}), watch: guard{stage: stage}}
}

// Write receives output of the worker. It never fails: a worker that cannot write would not
// end.
func (l *listener) Write(p []byte) (int, error) {
	n := len(p)
	for {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		if l.err != nil {
			l.rest = nil
			return n, nil
		}
		if len(l.rest)+len(line) > mostLine {
			l.err = fmt.Errorf("a line of more than %d MiB", mostLine>>20)
			l.finish()
			continue
		}
		if !whole {
			l.rest = append(l.rest, p...)
			return n, nil
		}
		if len(l.rest) > 0 {
			line = append(l.rest, line...)
		}
		l.take(line)
		l.rest, p = l.rest[:0], rest
	}
}

func (l *listener) take(line []byte) {
	var m message
	if l.err != nil {
		return
	}
	if err := json.Unmarshal(line, &m); err != nil {
		l.err = err
		l.finish()
		return
	}
	switch {
	case m.Interval != nil:
		if l.err = l.watch.take(m.Interval); l.err != nil || !l.out.Interval(*m.Interval) {
			l.finish()
		}
	case m.Ready && !l.begun && l.ready != nil:
		l.begun = true
		close(l.ready)
	case m.Log != "" && l.log != nil:
		l.log("%s", m.Log)
	case m.End != nil:
		if l.err = (&measure.Record{Values: m.End.Values}).Plausible(); l.err == nil {
			l.end = m.End
		}
	}
}

// finish asks the worker to end.
func (l *listener) finish() { l.once.Do(func() { close(l.stop) }) }

// conclude handles the last message.
func (l *listener) conclude() error {
	for name, value := range l.end.Observed {
		l.out.Observe(name, value)
	}
	for name, value := range l.end.Values {
		l.out.Value(name, value)
	}
	for _, c := range l.end.Checks {
		l.out.Check(c)
	}
	if l.end.Error != "" {
		return errors.New(l.end.Error)
	}
	return nil
}
