package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
)

// Place is where a server listens, and who one is there. A secret is a reference, as
// Secret reads it.
type Place struct {
	Network, Address       string
	User, Database, Secret string
	// Connect makes connections to it from elsewhere, as through a machine; nil is from here.
	Connect func(ctx context.Context, network, address string) (net.Conn, error)
}

// Account is who one is there, in the database of the given name, or in that of the
// place where the name is empty.
func (p Place) Account(database string) (Account, error) {
	secret, err := Secret(p.Secret)
	if database == "" {
		database = p.Database
	}
	return Account{User: p.User, Database: database, Password: secret}, err
}

// patience is how long a server may take to take a connection.
const patience = 10 * time.Second

// Dial connects to a server and begins a session in a database. One that is starting, or
// that has no session left, gets a while. Its errors are one line that says what the
// user can do.
func Dial(ctx context.Context, p Place, database string) (*Conn, error) {
	const often, pause = 50, 100 * time.Millisecond
	for n := 1; ; n++ {
		s, err := dial(ctx, p, database)
		if !failed(err, "57P03") && !failed(err, TooManyConnections) || n == often {
			return s, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(pause):
		}
	}
}

func dial(ctx context.Context, p Place, database string) (*Conn, error) {
	who, err := p.Account(database)
	if err != nil {
		return nil, err
	}
	conn, err := p.connect(ctx)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		} else if Gone(err) {
			err = fmt.Errorf("nothing listens there: start the service, or correct its address: %w", err)
		}
		return nil, fmt.Errorf("connect to the database at %s: %w", p.Address, err)
	}
	s, err := Open(ctx, conn, who)
	if err != nil {
		return nil, fmt.Errorf("begin a session in database %s at %s: %w", who.Database, p.Address, err)
	}
	return s, nil
}

func (p Place) connect(ctx context.Context) (net.Conn, error) {
	until, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if p.Connect != nil {
		return p.Connect(until, p.Network, p.Address)
	}
	return (&net.Dialer{}).DialContext(until, p.Network, p.Address)
}

// Gone says whether an error is that nothing listens any more.
func Gone(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT)
}

// Lost says whether an error is that a server ended or lost a session: it was stopped, it
// crashed, or it is about to begin anew.
func Lost(err error) bool {
	for _, code := range []string{"57P01", "57P02", "57P03"} { // stopped, crashed, not ready
		if failed(err, code) {
			return true
		}
	}
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// Absent says whether an error is that a database does not exist.
func Absent(err error) bool { return failed(err, NoSuchDatabase) }

// Forbidden says whether an error is that one lacks the right to do something.
func Forbidden(err error) bool { return failed(err, "42501") }

// Canceled says whether an error is that a statement took longer than it may.
func Canceled(err error) bool { return failed(err, "57014") }

func failed(err error, code string) bool {
	var f *Fault
	return errors.As(err, &f) && f.Code == code
}
