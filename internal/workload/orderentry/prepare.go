package orderentry

import (
	"context"
	"fmt"

	"plimsoll/internal/workload"
	"plimsoll/internal/workload/engine/dataset"
	"plimsoll/internal/workload/engine/transact"
)

// data is what lies in the databases of servers of a protocol.
func (o *orderEntry) data(protocol string, seed uint64) dataset.Set {
	d := dataset.Set{
		Name:  database,
		Note:  fmt.Sprintf("3: %d warehouses, %d items, %d customers, seed %d", o.Warehouses, o.Items, o.Customers, seed),
		Reset: o.Reset, Loaders: o.Loaders, Fill: o.pieces(seed),
	}
	var all []dataset.Table
	for _, t := range tables {
		all = append(all, t.Table)
	}
	d.Tables, d.Keys = dataset.Schema(protocol, all)
	return d
}

func (o *orderEntry) load() transact.Load {
	return transact.Load{Name: "order-entry", Database: database, Data: o.data, Offer: o.offer, Connections: o.Connections}
}

// Prepare has the data there, as new where each trial is to begin so.
func (o *orderEntry) Prepare(ctx context.Context, env workload.Env) error {
	return o.load().Prepare(ctx, env)
}

// Clean removes the databases.
func (o *orderEntry) Clean(ctx context.Context, env workload.Env) error {
	return o.load().Clean(ctx, env)
}

// pieces are those of all tables.
func (o *orderEntry) pieces(seed uint64) []dataset.Job {
	var all []dataset.Job
	for _, t := range tables {
		for w := 1; w <= o.Warehouses; w++ {
			start := func() func([]byte) ([]byte, bool) {
				row, i := t.rows(o.size(), newSource(seed, t.stream<<32|uint64(w)), w), 0
				return func(b []byte) ([]byte, bool) {
					b, more := row(b, i)
					i++
					return b, more
				}
			}
			all = append(all, dataset.Rows(fmt.Sprintf("%s %d", t.Name, w), t.Name, "", start))
			if t.once {
				break
			}
		}
	}
	return all
}
