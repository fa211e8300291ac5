package orderentry

import (
	"errors"
	"fmt"

	"plimsoll/internal/postgres"
	"plimsoll/internal/workload"
)

// database is the one that is worked on.
const database = "plimsoll_order_entry"

// targets are where the servers listen.
func targets(env workload.Env) ([]postgres.Place, error) {
	if env.Target == nil {
		return nil, errors.New("the workload order-entry needs a database: name the service postgresql in the study")
	}
	at, err := env.Target(protocol)
	if err != nil {
		return nil, fmt.Errorf("find a database: %w", err)
	}
	return postgres.Places(at, env.Dial)
}
