package dvdstore

import (
	"context"
	"fmt"

	"plimsoll/internal/workload"
	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dataset"
	"plimsoll/internal/workload/engine/transact"
)

// database is the one that is worked on.
const database = "plimsoll_dvdstore"

// data is the data of the shop for servers of a protocol.
func (d *store) data(protocol string, seed uint64) dataset.Set {
	create, keys := schema(protocol)
	s := dataset.Set{
		Name: database, Note: fmt.Sprintf("2: %s, %d B, %d reviews, seed %d", d.Mode, d.Size, d.PerProduct, seed),
		Reset: d.Reset, Loaders: d.Loaders, Tables: create, Keys: keys, Programs: append(d.size().binding(protocol), making(protocol, d.Mode)),
	}
	for _, t := range filled {
		s.Fill = append(s.Fill, d.pieces(t, seed)...)
	}
	if d.Reset && protocol == engine.MariaDB {
		s.Undo = d.undo(seed)
	}
	return s
}

// pieces fill a table.
func (d *store) pieces(t table, seed uint64) (all []dataset.Job) {
	for n := range t.pieces(d.size()) {
		all = append(all, dataset.Rows(t.label(n), t.name, "", func() func([]byte) ([]byte, bool) { return t.fill(d.size(), seed, n) }))
	}
	return all
}

func (d *store) load() transact.Load {
	return transact.Load{Name: "dvdstore", Database: database, Data: d.data, Offer: d.offer, Connections: d.Connections}
}

// Prepare has the data there, as new where each trial is to begin so. Loading that was
// interrupted is resumed.
func (d *store) Prepare(ctx context.Context, env workload.Env) error {
	return d.load().Prepare(ctx, env)
}

// Clean removes the databases.
func (d *store) Clean(ctx context.Context, env workload.Env) error {
	return d.load().Clean(ctx, env)
}
