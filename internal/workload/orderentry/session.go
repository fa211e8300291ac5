package orderentry

import (
	"errors"
	"fmt"

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
func target(env workload.Env) (postgres.Place, error) {
	if env.Target == nil {
		return postgres.Place{}, errors.New("the workload order-entry needs a database: name the service postgresql in the study")
	}
	at, err := env.Target(protocol)
	if err != nil {
		return postgres.Place{}, fmt.Errorf("find a database: %w", err)
	}
	return place(at)
}

func place(at load.Endpoint) (postgres.Place, error) {
	switch {
	case len(at.More) > 0:
		return postgres.Place{}, errors.New("order-entry works on one database")
	case at.Network != "tcp" && at.Network != "unix" || len(at.CA) > 0:
		return postgres.Place{}, errors.New("order-entry speaks to a database over TCP or a unix socket, without TLS")
	}
	return postgres.Place{Network: at.Network, Address: at.Address, User: at.User, Database: at.Database, Secret: at.Secret}, nil
}
