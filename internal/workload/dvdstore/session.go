package dvdstore

import (
	"errors"
	"fmt"

	"plimsoll/internal/postgres"
	"plimsoll/internal/workload"
)

// The databases that the workload makes: the one that is worked on, and the one that
// it is copied from.
const (
	database = "plimsoll_dvdstore"
	template = "plimsoll_dvdstore_base"
)

// targets are where the servers listen.
func targets(env workload.Env) ([]postgres.Place, error) {
	if env.Target == nil {
		return nil, errors.New("the workload dvdstore needs a database: name the service postgresql in the study")
	}
	at, err := env.Target(protocol)
	if err != nil {
		return nil, fmt.Errorf("find a database: %w", err)
	}
	return postgres.Places(at, env.Dial)
}
