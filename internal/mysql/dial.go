package mysql

import (
	"context"
	"errors"
	"fmt"
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

// Dial connects to a server and begins a session in a database. One that has no session
// left gets a while. Its errors are one line that says what the user can do.
func Dial(ctx context.Context, p Place, database string) (*Conn, error) {
	const often, pause = 50, 100 * time.Millisecond
	for n := 1; ; n++ {
		s, err := dial(ctx, p, database)
		if !failed(err, TooManyConnections) || n == often {
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
	until, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	connect := p.Connect
	if connect == nil {
		connect = (&net.Dialer{}).DialContext
	}
	conn, err := connect(until, p.Network, p.Address)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		} else if Gone(err) {
			err = fmt.Errorf("nothing listens there: start the service, or correct its address: %w", err)
		}
		return nil, fmt.Errorf("connect to the database at %s: %w", p.Address, err)
	}
	s, err := Open(until, conn, who)
	if err != nil {
		return nil, fmt.Errorf("begin a session at %s: %w", p.Address, err)
	}
	return s, nil
}

// Gone says whether an error is that nothing listens any more.
func Gone(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT)
}

// failed says whether an error is one of those that the server reports by a code.
func failed(err error, codes ...uint16) bool {
	var f *Fault
	if errors.As(err, &f) {
		for _, code := range codes {
			if f.Code == code {
				return true
			}
		}
	}
	return false
}

// Absent says whether an error is that a database does not exist.
func Absent(err error) bool { return failed(err, NoSuchDatabase) }

// Canceled says whether an error is that a statement took longer than it may.
func Canceled(err error) bool { return failed(err, StatementTimeout) }
