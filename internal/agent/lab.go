package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"plimsoll/internal/measure"
	"plimsoll/internal/platform"
	"plimsoll/internal/workload"
)

// Run is the lab's side: it starts a worker on the machine, takes down what it
// measures and ends it when the recorder has enough. A worker that dies or says
// nothing sensible is an error; so is a load that failed.
func Run(ctx context.Context, m platform.Machine, job Job, out *measure.Recorder, log func(string, ...any)) error {
	carrier, ok := m.(platform.Carrier)
	if !ok {
		return fmt.Errorf("machine %s cannot run a worker of plimsoll: it holds no copy of the program", m.Name())
	}
	self, err := carrier.Self(ctx)
	if err != nil {
		return fmt.Errorf("find plimsoll on machine %s: %w", m.Name(), err)
	}
	text, err := json.Marshal(job)
	if err != nil {
		return fmt.Errorf("encode the job of a worker: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, job.Stage.Length+tardy, errors.New("the worker did not end in time"))
	defer cancel()
	l := &listener{out: out, log: log, stop: make(chan struct{})}
	result, err := m.Run(ctx, platform.Command{
		Argv: []string{self, Command}, Stdin: bytes.NewReader(text), Stdout: l, Worker: true, Stop: l.stop,
	})
	switch {
	case err != nil:
		return fmt.Errorf("run a worker: %w", err)
	case l.err != nil:
		return fmt.Errorf("what the worker sent cannot be used: %w", l.err)
	case l.end == nil:
		return fmt.Errorf("the worker ended without its result: %w",
			&workload.ExitError{Program: "plimsoll " + Command, Exit: result.Exit, Signal: result.Signal, Stderr: string(result.Stderr)})
	}
	return l.conclude()
}

// listener takes down what a worker sends.
type listener struct {
	out  *measure.Recorder
	log  func(string, ...any)
	stop chan struct{}
	once sync.Once
	rest []byte // of a line that is not whole
	end  *end
	err  error
}

// Write takes in output of the worker. It never fails: a worker that cannot write
// would not end.
func (l *listener) Write(p []byte) (int, error) {
	n := len(p)
	for {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
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
		if !l.out.Interval(*m.Interval) {
			l.finish()
		}
	case m.Log != "" && l.log != nil:
		l.log("%s", m.Log)
	case m.End != nil:
		l.end = m.End
	}
}

// finish asks the worker to end.
func (l *listener) finish() { l.once.Do(func() { close(l.stop) }) }

// conclude takes down the last message.
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
