package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"syscall"

	"plimsoll/internal/wire"
)

func beginning() wire.Beginning[*Conn] {
	return wire.Beginning[*Conn]{
		Secure: Secure, Open: Open,
		Busy: func(err error) bool { return failed(err, notReady, TooManyConnections) },
	}
}

// Dial connects to a server and starts a session in a database. It retries while the server is
// starting or has no free connection. Its errors are one line with a remedy.
func Dial(ctx context.Context, p wire.Target, database string) (*Conn, error) {
	return beginning().Dial(ctx, p, database)
}

// On starts a session in the target's database on a connection, which it owns.
func On(ctx context.Context, conn net.Conn, p wire.Target) (*Conn, error) {
	return beginning().On(ctx, conn, p, "")
}

// Secure requests TLS by SSLRequest.
func Secure(ctx context.Context, conn net.Conn, config *tls.Config) (net.Conn, error) {
	var answer [1]byte
	err := wire.Plainly(ctx, conn, func() error {
		_, err := conn.Write([]byte{0, 0, 0, 8, 4, 210, 22, 47}) // SSLRequest
		if err == nil {
			_, err = io.ReadFull(conn, answer[:])
		}
		return err
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("request TLS: %w", err)
	case answer[0] != 'S':
		return nil, errors.New("the server does not support TLS: enable ssl there, or omit tls")
	}
	return wire.Handshake(ctx, conn, config)
}

// Lost reports whether an error means that the server ended or lost the session: a shutdown, a
// crash, or a restart.
func Lost(err error) bool {
	const stopped, crashed = "57P01", "57P02"
	return failed(err, stopped, crashed, notReady) || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// Absent reports whether an error means that a database does not exist.
func Absent(err error) bool { return failed(err, NoSuchDatabase) }

// Forbidden reports whether an error means that the user lacks a privilege.
func Forbidden(err error) bool { return failed(err, "42501") }

// Canceled reports whether an error means that a statement exceeded its timeout.
func Canceled(err error) bool { return failed(err, "57014") }

// notReady is the SQLSTATE of a server that is starting up or shutting down.
const notReady = "57P03"

// failed reports whether an error has one of the given SQLSTATEs.
func failed(err error, codes ...string) bool {
	var f *Fault
	return errors.As(err, &f) && slices.Contains(codes, f.Code)
}
