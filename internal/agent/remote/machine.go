package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"plimsoll/internal/platform"
)

// Client is the lab's side of connections.
type Client struct {
	Version string        // of the build; sent to the far side
	Beat    time.Duration // keepalive interval; 0 is a second
	Silence time.Duration // keepalive timeout; 0 is ten seconds
}

// Connect greets the far side of conn. See Client.Connect.
func Connect(ctx context.Context, conn io.ReadWriteCloser) (*Machine, error) {
	return Client{}.Connect(ctx, conn)
}

// greetAgain is the interval at which a hello is repeated: the first may be taken for the rest
// of an earlier connection over the same port.
const greetAgain = 500 * time.Millisecond

// Connect exchanges hellos with the far side. The context bounds that alone, not the life of
// the machine. An error closes conn.
func (c Client) Connect(ctx context.Context, conn io.ReadWriteCloser) (*Machine, error) {
	l := newLink(context.Background(), conn, c.Beat, c.Silence)
	release := context.AfterFunc(ctx, func() {
		l.end(fmt.Errorf("the remote side did not answer; does plimsoll-agent run there? %w", context.Cause(ctx)))
	})
	far, err := c.greet(l)
	if err == nil {
		err = far.check(c.Version, far.Version)
	}
	if !release() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		l.end(err)
		return nil, fmt.Errorf("connect to a machine: %w", context.Cause(l.ctx))
	}
	m := &Machine{link: l, far: far, calls: map[uint32]*call{}, confinement: far.Confinement, ended: make(chan struct{}), patience: callEnd}
	go m.live()
	return m, nil
}

// greet exchanges hellos. Answers to earlier labs are skipped.
func (c Client) greet(l *link) (hello, error) {
	own := hello{Protocol: Protocol, Version: c.Version, Session: newSession()}
	answered := make(chan struct{})
	var greeting sync.WaitGroup
	greeting.Go(func() {
		tick := time.NewTicker(greetAgain)
		defer tick.Stop()
		for l.sendJSON(kindHello, 0, own) == nil {
			select {
			case <-answered:
				return
			case <-l.ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	for {
		f, err := seekHello(l.in)
		if err != nil {
			l.end(fmt.Errorf("wait for the remote side: %w", noEOF(err)))
			return hello{}, context.Cause(l.ctx)
		}
		var far hello
		if decode(f, &far) != nil || far.Session != own.Session {
			continue
		}
		close(answered)
		return far, nil
	}
}

// Machine is the far side's machine as the lab uses it. Abilities that the far side
// lacks give errors that wrap errors.ErrUnsupported.
type Machine struct {
	link     *link
	far      hello
	ended    chan struct{} // closed when the connection has ended and all pending calls have failed
	patience time.Duration // see callEnd

	beginning sync.Mutex // held while a call begins

	mu          sync.Mutex // guards the fields below
	last        uint32
	calls       map[uint32]*call
	confinement platform.Confinement
}

// Name is the far side's name for itself.
func (m *Machine) Name() string { return m.far.Machine }

// Version is the build of the far side, "" if unknown.
func (m *Machine) Version() string { return m.far.Version }

// Done is closed when the connection has ended.
func (m *Machine) Done() <-chan struct{} { return m.ended }

// Err is why the connection has ended; nil while it lasts.
func (m *Machine) Err() error {
	select {
	case <-m.ended:
		return context.Cause(m.link.ctx)
	default:
		return nil
	}
}

var errClosed = errors.New("the lab closed the connection")

// Close ends the connection, and with it all commands of the lab on the far side. A second
// call does nothing.
func (m *Machine) Close() error {
	m.link.end(errClosed)
	<-m.ended
	return nil
}

// End shuts the far side down: a guest powers off, a served program exits. It waits for the
// end of the connection as long as the context allows, and closes it.
func (m *Machine) End(ctx context.Context) error {
	if err := m.link.send(frame{kind: kindOver}); err != nil {
		return fmt.Errorf("close the session with machine %s: %w", m.Name(), err)
	}
	select {
	case <-m.ended:
	case <-ctx.Done():
	}
	return m.Close()
}

// Run runs a command on the far side.
func (m *Machine) Run(ctx context.Context, c platform.Command) (platform.Result, error) {
	if len(c.Argv) == 0 {
		return platform.Result{}, errors.New("a command without a program")
	}
	r := request{Method: methodRun, Dir: []byte(c.Dir), Stdin: c.Stdin != nil, Worker: c.Worker, Joined: c.Joined}
	for _, a := range c.Argv {
		r.Argv = append(r.Argv, []byte(a))
	}
	collected := bounded{most: mostCollected}
	k := &call{stdin: c.Stdin, stdout: c.Stdout, stop: c.Stop}
	if c.Stdout == nil {
		k.stdout = &collected
	}
	ended := platform.LogCommand(ctx, m.Name(), c.Argv)
	a, err := m.do(ctx, r, k)
	if ctx.Err() != nil && err != nil {
		err = fmt.Errorf("%s was ended: %w", c.Argv[0], context.Cause(ctx))
	}
	result := platform.Result{
		Exit: a.Exit, Signal: a.Signal, Stdout: collected.data.Bytes(), Stderr: k.stderr, User: a.User, System: a.System, OutOfMemory: a.OutOfMemory,
	}
	ended(result, err)
	return result, err
}

// mostCollected bounds the output of a command and the content of a file in memory, in bytes.
const mostCollected = 64 << 20

// ReadFile reads a file of the far side.
func (m *Machine) ReadFile(ctx context.Context, name string) ([]byte, error) {
	data := bounded{most: mostCollected}
	if _, err := m.do(ctx, request{Method: methodRead, Name: []byte(name)}, &call{stdout: &data}); err != nil {
		return nil, err
	}
	return data.data.Bytes(), nil
}

// WriteFile writes a file of the far side, in one piece.
func (m *Machine) WriteFile(ctx context.Context, name string, data []byte) error {
	_, err := m.do(ctx, request{Method: methodWrite, Name: []byte(name), Stdin: true}, &call{stdin: bytes.NewReader(data)})
	platform.LogWrite(ctx, platform.Write{Machine: m.Name(), Name: name, Data: data, Err: err})
	return err
}

// Self is the path of the program that serves on the far side.
func (m *Machine) Self(ctx context.Context) (string, error) {
	a, err := m.do(ctx, request{Method: methodSelf}, &call{})
	return string(a.Path), err
}

// Confinement is the last confinement.
func (m *Machine) Confinement() platform.Confinement {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.confinement
}

// Confine sets the CPUs and limits of the far side's workers.
func (m *Machine) Confine(ctx context.Context, c platform.Confinement) error {
	if _, err := m.do(ctx, request{Method: methodConfine, Confinement: &c}, &call{}); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.confinement = c
	return nil
}

// Confinable is the error of a confinement that the far side does not support.
func (m *Machine) Confinable(ctx context.Context, c platform.Confinement) error {
	_, err := m.do(ctx, request{Method: methodConfinable, Confinement: &c}, &call{})
	return err
}

// Clock is the state of the far side's clock.
func (m *Machine) Clock(ctx context.Context) (platform.Clock, error) {
	a, err := m.do(ctx, request{Method: methodClock}, &call{})
	if err != nil || a.Clock == nil {
		return platform.Clock{}, err
	}
	return *a.Clock, nil
}

// Space is the room in a file system of the far side.
func (m *Machine) Space(ctx context.Context, dir string) (platform.Space, error) {
	a, err := m.do(ctx, request{Method: methodSpace, Name: []byte(dir)}, &call{})
	if err != nil || a.Space == nil {
		return platform.Space{}, err
	}
	return *a.Space, nil
}
