// Package wire is what the clients of databases have in common below their protocols:
// where a server is and who one is there, how one connects, over TLS or without, and a
// connection that speaks and then listens.
package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"plimsoll/internal/load"
)

// Account is who a session belongs to.
type Account struct {
	User     string
	Database string // empty: the one that the server takes then, if any
	Password string // empty: none is given
}

// Target is where a server listens, and who one is there. A secret is a reference, as
// Secret reads it.
type Target struct {
	Network, Address       string
	User, Database, Secret string
	TLS                    *tls.Config // with the name that the server's certificate must have; nil is without TLS
	// Connect makes connections to it from elsewhere, as through a machine; nil is from here.
	Connect func(ctx context.Context, network, address string) (net.Conn, error)
}

// At is the target of an endpoint, at its Address.
func At(e load.Endpoint) (Target, error) {
	if e.Network != "tcp" && e.Network != "unix" {
		return Target{}, fmt.Errorf("unsupported network %q: a database listens on tcp or unix", e.Network)
	}
	secure, err := e.Secure()
	return Target{Network: e.Network, Address: e.Address, User: e.User, Database: e.Database, Secret: e.Secret, TLS: secure}, err
}

// Account is who one is there, in the database of the given name, or in that of the
// target where the name is empty.
func (p Target) Account(database string) (Account, error) {
	secret, err := secret(p.Secret)
	if database == "" {
		database = p.Database
	}
	return Account{User: p.User, Database: database, Password: secret}, err
}

// secret reads a password by its reference: env:NAME or file:PATH. An empty reference is
// no password.
func secret(reference string) (string, error) {
	kind, name, _ := strings.Cut(reference, ":")
	switch {
	case reference == "":
		return "", nil
	case kind == "env" && name != "":
		if v, ok := os.LookupEnv(name); ok {
			return v, nil
		}
		return "", fmt.Errorf("password %s: the variable is not set", reference)
	case kind == "file" && name != "":
		data, err := os.ReadFile(name)
		if err != nil {
			return "", fmt.Errorf("password %s: %w", reference, err)
		}
		return strings.TrimRight(string(data), "\r\n"), nil
	}
	return "", errors.New("password: give a reference, env:NAME or file:PATH, not the password itself")
}

// patience is how long a server may take to take a connection and to begin a session.
const patience = 10 * time.Second

func (p Target) connect(ctx context.Context) (net.Conn, error) {
	connect := p.Connect
	if connect == nil {
		connect = (&net.Dialer{}).DialContext
	}
	conn, err := connect(ctx, p.Network, p.Address)
	if err == nil {
		return conn, nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	} else if Gone(err) {
		err = fmt.Errorf("nothing listens there: start the service, or correct its address: %w", err)
	}
	return nil, fmt.Errorf("connect to the database at %s: %w", p.Address, err)
}

// Gone reports whether an error is that nothing listens any more.
func Gone(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT)
}

// Beginning is how sessions begin by a protocol.
type Beginning[C any] struct {
	// Secure has a connection go on over TLS.
	Secure func(ctx context.Context, conn net.Conn, config *tls.Config) (net.Conn, error)
	// Open begins a session on a connection, which it then owns, and closes on an error.
	Open func(ctx context.Context, conn net.Conn, a Account) (C, error)
	// Busy says that a server will have room in a moment.
	Busy func(error) bool
}

// Dial connects to a server and begins a session in a database. One that is busy gets a
// while. Its errors are one line that says what the user can do.
func (b Beginning[C]) Dial(ctx context.Context, p Target, database string) (C, error) {
	const often, pause = 50, 100 * time.Millisecond
	for n := 1; ; n++ {
		s, err := b.dial(ctx, p, database)
		if err == nil || !b.Busy(err) || n == often {
			return s, err
		}
		select {
		case <-ctx.Done():
			return s, err
		case <-time.After(pause):
		}
	}
}

func (b Beginning[C]) dial(ctx context.Context, p Target, database string) (C, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no response from the server within %s", patience))
	defer cancel()
	conn, err := p.connect(ctx)
	if err != nil {
		var none C
		return none, err
	}
	return b.On(ctx, conn, p, database)
}

// On begins a session in a database of a target on a connection to it, which it owns.
func (b Beginning[C]) On(ctx context.Context, conn net.Conn, p Target, database string) (s C, err error) {
	who, err := p.Account(database)
	if err == nil && p.TLS != nil {
		var secure net.Conn
		if secure, err = b.Secure(ctx, conn, p.TLS); err == nil {
			conn = secure
		}
	}
	if err != nil {
		_ = conn.Close()
	} else {
		s, err = b.Open(ctx, conn, who)
	}
	switch {
	case err == nil:
		return s, nil
	case who.Database != "":
		return s, fmt.Errorf("start a session in database %s at %s: %w", who.Database, p.Address, err)
	}
	return s, fmt.Errorf("start a session at %s: %w", p.Address, err)
}
