package orderentry

import (
	"errors"

	"plimsoll/internal/engine"
	"plimsoll/internal/workload"
)

// database is the one that is worked on.
const database = "plimsoll_order_entry"

// targets are where the servers listen.
func targets(env workload.Env) ([]engine.Server, error) {
	if env.Target == nil {
		return nil, errors.New("the workload order-entry needs a database: name the service postgresql or mariadb in the study")
	}
	return engine.Servers(env.Target, env.Dial)
}
