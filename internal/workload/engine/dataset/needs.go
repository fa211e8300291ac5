package dataset

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/engine"
)

// Needs lists the requirements of a load's data, of a size in bytes and a fill rate in bytes
// per second. On a running server, it checks whether the user may create the databases.
func Needs(ctx context.Context, env workload.Env, data func(protocol string, seed uint64) Set, size, speed float64) (workload.Needs, error) {
	const mebi = 1 << 20
	needs := workload.Needs{Time: time.Duration(size / speed * float64(time.Second))}
	size = math.Ceil(size/mebi) * mebi // rounded up: the size is an estimate
	if env.Target == nil {             // it will be started
		protocol := engine.PostgreSQL
		if slices.Contains(env.Speaks, engine.MariaDB) {
			protocol = engine.MariaDB
		}
		if data(protocol, env.Seed).copied(protocol) {
			size *= 2
		}
		needs.Served = int64(size)
		return needs, nil
	}
	at, err := engine.Servers(env.Target, env.Dial)
	if err != nil {
		return workload.Needs{}, err
	}
	d := data(at[0].Protocol, env.Seed)
	if err := d.allowed(ctx, at[0]); err != nil {
		return workload.Needs{}, err
	}
	what := fmt.Sprintf("makes the database %s on the server, of about %s, and removes it", d.Name, parameter.Bytes(size).About())
	if d.copied(at[0].Protocol) {
		what = fmt.Sprintf("makes the databases %s and %s on the server, of about %s in all, and removes them", d.Name, d.base(), parameter.Bytes(2*size).About())
	}
	needs.Changes = []string{what}
	return needs, nil
}

// allowed checks whether the user may create the databases at a server.
func (d Set) allowed(ctx context.Context, at engine.Server) error {
	s, err := engine.Dial(ctx, at, "")
	if err != nil {
		return err
	}
	defer s.Close()
	return engine.MayMake(ctx, at, s, d.Name)
}
