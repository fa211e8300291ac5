package service

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// Existing is a running database server that plimsoll did not start.
type Existing struct {
	Program  string // name of its version in the record
	Endpoint load.Endpoint
	CA       string // PEM file of its certificate authority, on this machine; empty for none
	// Version queries the version of the server from a machine; empty if it reports none.
	Version func(ctx context.Context, m platform.Machine, at load.Endpoint) (string, error)
	Live    func(m platform.Machine, at load.Endpoint) Live
}

// at is the endpoint, with its authority.
func (s *Existing) at() (load.Endpoint, error) {
	e := s.Endpoint
	if s.CA == "" {
		return e, nil
	}
	var err error
	if e.CA, err = os.ReadFile(s.CA); err == nil {
		_, err = e.Secure()
	}
	if err != nil {
		return e, fmt.Errorf("ca: %w", err)
	}
	return e, nil
}

// Check queries the version of the server.
func (s *Existing) Check(ctx context.Context, env Env) (Needs, error) {
	at, err := s.at()
	if err != nil {
		return Needs{}, err
	}
	version, err := s.Version(ctx, env.Machine, at)
	if err != nil {
		return Needs{}, err
	}
	if version == "" {
		return Needs{}, fmt.Errorf("the server at %s does not report its version", s.Endpoint.Address)
	}
	return Needs{Versions: map[string]string{s.Program: version}}, nil
}

// Start checks that the server responds.
func (s *Existing) Start(ctx context.Context, env Env) (Instance, error) {
	if _, err := s.Check(ctx, env); err != nil {
		return nil, err
	}
	at, err := s.at()
	if err != nil {
		return nil, err
	}
	live := s.Live(env.Machine, at)
	observe := live.Observe
	live.Observe = func(ctx context.Context) (map[string]string, error) {
		observed, err := observe(ctx)
		if err == nil {
			observed["address"] = s.Endpoint.Address
		}
		return observed, err
	}
	return Use(live), nil
}

// Client sends queries to a server, each in a session of its own.
type Client struct {
	Machine  platform.Machine // the machine that connects
	Endpoint load.Endpoint
	// Begin starts a session on a connection, which it then owns, also on an error.
	Begin func(ctx context.Context, conn net.Conn, at load.Endpoint) (SQLSession, error)
}

// SQLSession is a session with the server of a database.
type SQLSession interface {
	// Query runs SQL and returns its rows as text.
	Query(ctx context.Context, sql string) ([][]string, error)
	Close()
}

// Beginning is the Begin of a Client: place converts an endpoint to an address of a protocol,
// and on begins a session on a connection, which it then owns.
func Beginning[P any, T SQLSession](place func(load.Endpoint) (P, error), on func(context.Context, net.Conn, P) (T, error)) func(context.Context, net.Conn, load.Endpoint) (SQLSession, error) {
	return func(ctx context.Context, conn net.Conn, e load.Endpoint) (SQLSession, error) {
		at, err := place(e)
		if err != nil {
			_ = conn.Close()
			return nil, err
		}
		talk, err := on(ctx, conn, at)
		if err != nil {
			return nil, err // instead of a SQLSession with a nil T
		}
		return talk, nil
	}
}

// answering is the time limit of a query.
const answering = 10 * time.Second

// Ask returns the rows of a query. Its errors are one line with a remedy.
func (c Client) Ask(ctx context.Context, sql string) (rows [][]string, err error) {
	err = c.Talk(ctx, func(ctx context.Context, talk SQLSession) error {
		rows, err = talk.Query(ctx, sql)
		return err
	})
	return rows, err
}

// SQLSession runs a function in a session with the server. Its errors are those of Ask.
func (c Client) Talk(ctx context.Context, do func(ctx context.Context, talk SQLSession) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answering, fmt.Errorf("no response within %s", answering))
	defer cancel()
	conn, err := Dial(ctx, c.Machine, c.Endpoint)
	if err != nil {
		return err
	}
	talk, err := c.Begin(ctx, conn, c.Endpoint)
	if err != nil {
		return err
	}
	defer talk.Close()
	if err := do(ctx, talk); err != nil {
		return fmt.Errorf("query the server at %s: %w", c.Endpoint.Address, err)
	}
	return nil
}

// Value is the result of a query with a single value; empty without rows.
func (c Client) Value(ctx context.Context, sql string) (string, error) {
	rows, err := c.Ask(ctx, sql)
	if err != nil || len(rows) != 1 || len(rows[0]) != 1 {
		return "", err
	}
	return rows[0][0], nil
}

// Memory is the memory of a machine; 0 if unknown.
func Memory(ctx context.Context, m platform.Machine) parameter.Bytes {
	data, err := m.ReadFile(ctx, "/proc/meminfo")
	if err != nil {
		return 0
	}
	total, _ := platform.Meminfo(data, "MemTotal")
	return parameter.Bytes(total)
}

// HasMemory reports whether a machine has the memory for a setting of the given name.
func HasMemory(ctx context.Context, m platform.Machine, name string, size parameter.Bytes) error {
	if memory := Memory(ctx, m); memory > 0 && size > memory/4*3 {
		return fmt.Errorf("%s %s is more than three quarters of the memory of this host, %s: lower it", name, size, memory.About())
	}
	return nil
}
