package cql

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"plimsoll/internal/load"
	"plimsoll/internal/wire"
)

// Account is the account of a session; without a user no credentials are sent.
type Account = wire.Account

// Target is a server's address, and the account to use.
type Target struct {
	wire.Target
	Version Version // of the protocol; 0 is V4

	statements []Statement // to be prepared
}

// At is the target of an endpoint, at its Address.
func At(e load.Endpoint, v Version) (Target, error) {
	p, err := wire.At(e)
	return Target{Target: p, Version: v}, err
}

func (p Target) beginning() wire.Beginning[*Conn] {
	return wire.Beginning[*Conn]{
		Secure: secure,
		Open: func(ctx context.Context, conn net.Conn, a Account) (*Conn, error) {
			return open(ctx, conn, NewSession(cmp.Or(p.Version, V4), a, p.statements, ""))
		},
		Busy: func(err error) bool { return Is(err, Bootstrapping) },
	}
}

// Dial connects to a server and starts a session. It retries while the server is starting. Its
// errors are one line with a remedy.
func Dial(ctx context.Context, p Target) (*Conn, error) { return p.beginning().Dial(ctx, p.Target, "") }

// On starts a session on a connection, which it owns and closes on an error.
func On(ctx context.Context, conn net.Conn, p Target) (*Conn, error) {
	return p.beginning().On(ctx, conn, p.Target, "")
}

// secure starts TLS, which in this protocol precedes any message.
func secure(ctx context.Context, conn net.Conn, config *tls.Config) (net.Conn, error) {
	secure, err := wire.Handshake(ctx, conn, config)
	if err != nil {
		return nil, err
	}
	return secure, nil
}

// unheard explains a connection that was closed before the first response: Cassandra does so
// above its connection limit.
func unheard(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("the server closed the connection before it answered: it accepts TLS only, or has no connection left (native_transport_max_concurrent_connections): %w", err)
	}
	return err
}
