package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"plimsoll/internal/platform"
)

// served is a call on the far side.
type served struct {
	id      uint32
	request request
	ctx     context.Context
	cancel  context.CancelCauseFunc
	in      *inlet  // from the lab
	out     *outlet // to the lab
	stop    chan struct{}
	once    sync.Once // closes stop
}

// perform runs the call.
func (c *served) perform(x *session) (a answer) {
	var err error
	r := c.request
	switch r.Method {
	case methodRun:
		a, err = c.run(x)
	case methodRead:
		var data []byte
		if data, err = x.machine.ReadFile(c.ctx, string(r.Name)); err == nil {
			_, err = c.out.Write(data)
		}
	case methodWrite:
		err = c.write(x.machine)
	case methodDial:
		err = c.dial(x)
	case methodSelf, methodClock, methodSpace, methodConfine, methodConfinable:
		a, err = c.ask(x.machine)
	case methodClaim:
		err = c.claim(x)
	case methodRelease:
		err = x.desk.release(c.ctx, string(r.Name), x.restore)
	case methodNow:
		a.Now = x.now().UnixNano()
	default:
		err = fmt.Errorf("unknown method %q: %w", r.Method, errors.ErrUnsupported)
	}
	a.Fault = newFault(err)
	return a
}

func (c *served) run(x *session) (answer, error) {
	command := platform.Command{Dir: string(c.request.Dir), Stdout: c.out, Worker: c.request.Worker, Joined: c.request.Joined, Stop: c.stop}
	for _, a := range c.request.Argv {
		command.Argv = append(command.Argv, string(a))
	}
	if c.request.Stdin {
		command.Stdin = c.in
	}
	flush := func() error { return nil }
	if command.Worker {
		b := newBacklog(c.out)
		command.Stdout, flush = b, b.end
	}
	r, err := x.machine.Run(c.ctx, command)
	if failed := flush(); err == nil && failed != nil {
		err = fmt.Errorf("send the output of a worker: %w", failed)
	}
	for tail := r.Stderr[max(0, len(r.Stderr)-keptStderr):]; len(tail) > 0; {
		n := min(len(tail), chunk)
		if err := x.link.send(frame{kindStderr, c.id, tail[:n]}); err != nil {
			break
		}
		tail = tail[n:]
	}
	return answer{Exit: r.Exit, Signal: r.Signal, OutOfMemory: r.OutOfMemory, User: r.User, System: r.System}, err
}

// write writes a file once all of it has arrived, so that none is written in part.
func (c *served) write(m platform.Machine) error {
	data, err := io.ReadAll(io.LimitReader(c.in, mostWritten+1))
	if err != nil {
		return fmt.Errorf("receive file %s: %w", c.request.Name, err)
	}
	if len(data) > mostWritten {
		return fmt.Errorf("file %s is too large for a remote write: at most %d bytes", c.request.Name, mostWritten)
	}
	return m.WriteFile(c.ctx, string(c.request.Name), data)
}

// ask calls an optional method of the machine.
func (c *served) ask(m platform.Machine) (a answer, err error) {
	r := c.request
	carrier, carries := m.(platform.Carrier)
	observer, observes := m.(platform.Observer)
	confiner, confines := m.(platform.Confiner)
	switch {
	case r.Method == methodSelf && carries:
		var path string
		path, err = carrier.Self(c.ctx)
		a.Path = []byte(path)
	case r.Method == methodClock && observes:
		var clock platform.Clock
		clock, err = observer.Clock(c.ctx)
		a.Clock = &clock
	case r.Method == methodSpace && observes:
		var space platform.Space
		space, err = observer.Space(c.ctx, string(r.Name))
		a.Space = &space
	case r.Confinement == nil && (r.Method == methodConfine || r.Method == methodConfinable):
		err = fmt.Errorf("method %q requires a confinement", r.Method)
	case r.Method == methodConfine && confines:
		err = confiner.Confine(c.ctx, *r.Confinement)
	case r.Method == methodConfinable && confines:
		err = confiner.Confinable(c.ctx, *r.Confinement)
	default:
		err = fmt.Errorf("machine %s does not support %q: %w", m.Name(), r.Method, errors.ErrUnsupported)
	}
	return a, err
}
