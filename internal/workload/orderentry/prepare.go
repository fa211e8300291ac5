package orderentry

import (
	"context"
	"fmt"

	"plimsoll/internal/postgres"
	"plimsoll/internal/postgres/dataset"
	"plimsoll/internal/workload"
)

// data is what lies in the databases.
func (o *orderEntry) data(seed uint64) dataset.Set {
	return dataset.Set{
		Name:  database,
		Note:  fmt.Sprintf("1: %d warehouses, %d items, %d customers, seed %d", o.Warehouses, o.Items, o.Customers, seed),
		Reset: o.Reset, Loaders: o.Loaders, Tables: tables, Fill: o.copies(seed), Keys: keys,
	}
}

// Prepare has the data there, as new where each trial is to begin so.
func (o *orderEntry) Prepare(ctx context.Context, env workload.Env) error {
	at, err := targets(env)
	if err != nil {
		return err
	}
	return postgres.Each(ctx, at, func(ctx context.Context, _ int, at postgres.Place) error {
		if err := o.data(env.Seed).Prepare(ctx, at); ctx.Err() == nil {
			return err
		}
		return context.Cause(ctx)
	})
}

// Clean removes the databases. A server that is gone holds none.
func (o *orderEntry) Clean(ctx context.Context, env workload.Env) error {
	if env.Target == nil {
		return nil
	}
	if _, err := env.Target(protocol); err != nil {
		return nil //nolint:nilerr // it does not run
	}
	at, err := targets(env)
	if err != nil {
		return err
	}
	return postgres.Each(ctx, at, func(ctx context.Context, _ int, at postgres.Place) error {
		if err := (dataset.Set{Name: database}).Remove(ctx, at); err != nil && !postgres.Gone(err) {
			return err
		}
		return nil
	})
}

// copies are the pieces of all tables.
func (o *orderEntry) copies(seed uint64) []dataset.Job {
	var all []dataset.Job
	for _, t := range filled {
		for w := 1; w <= o.Warehouses; w++ {
			all = append(all, func(ctx context.Context, s *postgres.Conn) error {
				row, i := t.rows(o.size(), newSource(seed, t.stream<<32|uint64(w)), w), 0
				return s.Copy(ctx, "COPY "+t.name+columns(t.name)+" FROM STDIN", func(b []byte) ([]byte, bool) {
					b, more := row(b, i)
					i++
					return b, more
				})
			})
			if t.once {
				break
			}
		}
	}
	return all
}

// columns are those that the rows have, where they are not all.
func columns(table string) string {
	if table == "order_line" {
		return " (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)"
	}
	return ""
}
