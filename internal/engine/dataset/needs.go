package dataset

import (
	"context"
	"fmt"
	"time"

	"plimsoll/internal/engine"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
)

// Needs is what data of a size in bytes needs, that is filled with so many bytes a second.
// Where a server runs already, it is asked whether the user may make the databases.
func (d Set) Needs(ctx context.Context, env workload.Env, size, speed float64) (workload.Needs, error) {
	needs := workload.Needs{Time: time.Duration(size / speed * float64(time.Second))}
	if d.Reset {
		size *= 2
	}
	if env.Target == nil {
		needs.Disk = int64(size)
		return needs, nil // it will be started
	}
	at, err := engine.Servers(env.Target, env.Dial)
	if err != nil {
		return workload.Needs{}, err
	}
	if err := d.allowed(ctx, at[0]); err != nil {
		return workload.Needs{}, err
	}
	what := fmt.Sprintf("makes the database %s on the server, of %s, and removes it", d.Name, parameter.Bytes(size))
	if d.Reset {
		what = fmt.Sprintf("makes the databases %s and %s on the server, of %s in all, and removes them", d.Name, d.base(), parameter.Bytes(size))
	}
	needs.Changes = []string{what}
	return needs, nil
}

// allowed looks whether the user may make the databases at a server.
func (d Set) allowed(ctx context.Context, at engine.Server) error {
	s, err := engine.Dial(ctx, at, "")
	if err != nil {
		return err
	}
	defer s.Close()
	return engine.MayMake(ctx, at, s, d.Name)
}
