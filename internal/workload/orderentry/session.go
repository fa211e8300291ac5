package orderentry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/postgres"
	"plimsoll/internal/workload"
)

// The databases that the workload makes: the one that is worked on, and the one that
// it is copied from.
const (
	database = "plimsoll_order_entry"
	template = "plimsoll_order_entry_base"
)

// target is where the server listens.
func target(env workload.Env) (load.Endpoint, error) {
	if env.Target == nil {
		return load.Endpoint{}, errors.New("the workload order-entry needs a database: name the service postgresql in the study")
	}
	at, err := env.Target(protocol)
	if err == nil && len(at.More) > 0 {
		err = errors.New("order-entry works on one database")
	}
	if err != nil {
		return at, fmt.Errorf("find a database: %w", err)
	}
	return at, nil
}

// account is who we are in a database, or in the one that the service names.
func account(at load.Endpoint, name string) (postgres.Account, error) {
	secret, err := postgres.Secret(at.Secret)
	if name == "" {
		name = at.Database
	}
	return postgres.Account{User: at.User, Database: name, Password: secret}, err
}

// session begins a session in a database.
func (o *orderEntry) session(ctx context.Context, env workload.Env, name string) (*postgres.Conn, error) {
	at, err := target(env)
	if err != nil {
		return nil, err
	}
	return open(ctx, at, name)
}

const patience = 10 * time.Second

func open(ctx context.Context, at load.Endpoint, name string) (*postgres.Conn, error) {
	who, err := account(at, name)
	if err != nil {
		return nil, err
	}
	conn, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, at.Network, at.Address)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		} else if gone(err) {
			err = fmt.Errorf("nothing listens there: start the service, or correct its address: %w", err)
		}
		return nil, fmt.Errorf("connect to the database at %s: %w", at.Address, err)
	}
	s, err := postgres.Open(ctx, conn, who)
	if err != nil {
		return nil, fmt.Errorf("begin a session in database %s at %s: %w", who.Database, at.Address, err)
	}
	return s, nil
}

// gone says whether nothing listens at an address any more.
func gone(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT)
}

// absent says whether a database does not exist.
func absent(err error) bool {
	var f *postgres.Fault
	return errors.As(err, &f) && f.Code == postgres.NoSuchDatabase
}
