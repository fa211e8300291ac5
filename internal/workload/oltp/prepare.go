package oltp

import (
	"context"
	"fmt"
	"strconv"

	"plimsoll/internal/workload"
	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dataset"
	"plimsoll/internal/workload/engine/transact"
)

// data is the tables of sysbench, each with its rows.
func (o *oltp) data(protocol string, seed uint64) dataset.Set {
	d := dataset.Set{
		Name: database, Note: fmt.Sprintf("2: %d tables, %d rows, seed %d", o.Tables, o.Rows, seed),
		Loaders: o.Loaders, Usual: true,
	}
	var tables []dataset.Table
	for n := 1; n <= o.Tables; n++ {
		name := fmt.Sprintf("sbtest%d", n)
		tables = append(tables, dataset.Table{
			Name: name, Key: "id",
			Columns: "id int NOT NULL, k int NOT NULL DEFAULT 0, c char(120) NOT NULL DEFAULT '', pad char(60) NOT NULL DEFAULT ''",
			Indexes: []dataset.Index{{Name: fmt.Sprintf("k_%d", n), Columns: "k"}},
		})
		d.Fill = append(d.Fill, dataset.Rows(name, name, "", func() func([]byte) ([]byte, bool) {
			draws, id := newSource(seed, uint64(n)), 0
			return func(b []byte) ([]byte, bool) {
				id++
				return draws.appendRow(b, id, o.Rows), id < o.Rows
			}
		}))
	}
	d.Tables, d.Keys = dataset.Schema(protocol, tables)
	return d
}

func (o *oltp) load() transact.Load {
	return transact.Load{Name: "oltp", Database: database, Data: o.data, Offer: o.offer, Connections: o.Connections, Keeps: true}
}

// Prepare has the tables there. What trials changed stays: a row that was deleted was
// written again.
func (o *oltp) Prepare(ctx context.Context, env workload.Env) error {
	at, err := engine.Servers(env.Target, env.Dial)
	if err != nil {
		return err
	}
	err = engine.Each(ctx, at, func(ctx context.Context, _ int, at engine.Server) error { return o.dropIncomplete(ctx, at) })
	if err != nil {
		return err
	}
	return o.load().Prepare(ctx, env)
}

// dropIncomplete drops a database that lacks a table, and so has all of it made again.
func (o *oltp) dropIncomplete(ctx context.Context, at engine.Server) error {
	s, err := engine.Visit(ctx, at, database)
	if s == nil {
		return err
	}
	defer s.Close()
	rows, err := s.Query(ctx, "SELECT count(*) FROM information_schema.tables WHERE table_schema IN ('public', '"+database+"') AND table_name LIKE 'sbtest%'")
	if err != nil {
		return fmt.Errorf("count the tables of database %s: %w", database, err)
	}
	if rows[0][0] == strconv.Itoa(o.Tables) {
		return nil
	}
	return engine.Drop(ctx, at, database)
}

// Clean removes the database.
func (o *oltp) Clean(ctx context.Context, env workload.Env) error { return o.load().Clean(ctx, env) }
