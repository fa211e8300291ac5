package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"plimsoll/bench/measured"
	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/postgres"
	"plimsoll/internal/wire"
	"plimsoll/internal/workload"
)

// databases holds what loads on PostgreSQL cost against its own programs and against
// limits.
func databases() ([]result, error) {
	var all []result
	var failed error
	for _, one := range []func(context.Context) ([]result, error){pointSelects, filling, clerks} {
		some, err := one(context.Background())
		all, failed = append(all, some...), errors.Join(failed, err)
	}
	return all, failed
}

// pointSelects holds the CPU time of the client for a select of one row against that of
// pgbench, which does the same on the same table.
func pointSelects(ctx context.Context) ([]result, error) {
	dir, err := os.MkdirTemp("", "plimsoll-bench-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	script := filepath.Join(dir, "select.sql")
	if err := os.WriteFile(script, []byte("\\set id random(1, 100000)\nSELECT c FROM sbtest1 WHERE id = :id;\n"), 0o644); err != nil {
		return nil, err
	}
	c := contest{
		what: "select of one row, 8 sessions", service: "postgresql", protocol: "postgresql", workload: "oltp", peer: "pgbench",
		load: parameter.Settings{"connections": "8", "rows": "100000"},
		argv: func(at load.Endpoint) []string {
			host, port, _ := strings.Cut(at.Address, ":")
			return []string{"pgbench", "-h", host, "-p", port, "-U", at.User, "-n", "-M", "prepared", "-c", "8", "-j", "1", "-T", fmt.Sprint(turn.Seconds()), "-f", script, "plimsoll_oltp"}
		},
		operations: counted(`transactions actually processed: (\d+)`),
	}
	return c.one(ctx)
}

// withDatabase starts a private server for as long as something is done with it.
func withDatabase(ctx context.Context, settings parameter.Settings, do func(workload.Env, load.Endpoint) error) error {
	return contest{service: "postgresql", protocol: "postgresql", settings: settings}.serve(ctx, do)
}

// filling holds the time in which a table is made and filled against the server's own
// way: a COPY from a file that lies with it.
func filling(ctx context.Context) (all []result, err error) {
	l, err := made("oltp", parameter.Settings{"rows": "300000", "loaders": "1"})
	if err != nil {
		return nil, err
	}
	err = withDatabase(ctx, nil, func(env workload.Env, at load.Endpoint) error {
		place := wire.Target{Network: at.Network, Address: at.Address, User: at.User, Database: at.Database}
		ours, theirs, err := alternately(ctx, l, env, func() (float64, error) { return copied(ctx, place) })
		all = []result{{"table of 300,000 rows made and filled", ours, "COPY from a file", theirs, "s"}}
		return err
	})
	return all, err
}

// alternately prepares a load and does the same another way, three times in turn, and
// returns the median time of each in seconds.
func alternately(ctx context.Context, l workload.Load, env workload.Env, other func() (float64, error)) (ours, theirs float64, err error) {
	var all [2][]float64
	for range 3 {
		begin := time.Now()
		if err := l.Prepare(ctx, env); err != nil {
			return 0, 0, err
		}
		took := time.Since(begin).Seconds()
		again, err := other()
		if err != nil {
			return 0, 0, err
		}
		all[0], all[1] = append(all[0], took), append(all[1], again)
		if err := l.Clean(ctx, env); err != nil {
			return 0, 0, err
		}
	}
	return measured.Middle(all[0]), measured.Middle(all[1]), nil
}

// copied makes the database of the workload oltp from a file, and says how long that took.
func copied(ctx context.Context, at wire.Target) (float64, error) {
	from, err := postgres.Dial(ctx, at, "plimsoll_oltp")
	if err != nil {
		return 0, err
	}
	defer from.Close()
	const file = "plimsoll-bench.rows" // in the folder of the server's data
	if err := from.Exec(ctx, "COPY sbtest1 TO PROGRAM 'cat > "+file+"'"); err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := from.Exec(ctx, "CREATE DATABASE plimsoll_peer"); err != nil {
		return 0, err
	}
	to, err := postgres.Dial(ctx, at, "plimsoll_peer")
	if err != nil {
		return 0, err
	}
	for _, sql := range []string{
		"CREATE TABLE sbtest1 (id int NOT NULL, k int NOT NULL DEFAULT 0, c char(120) NOT NULL DEFAULT '', pad char(60) NOT NULL DEFAULT '')",
		"COPY sbtest1 FROM '" + file + "'",
		"ALTER TABLE sbtest1 ADD PRIMARY KEY (id); CREATE INDEX k_1 ON sbtest1 (k)",
		"VACUUM ANALYZE", "CHECKPOINT",
	} {
		if err := to.Exec(ctx, sql); err != nil {
			to.Close()
			return 0, err
		}
	}
	took := time.Since(begin).Seconds()
	to.Close()
	return took, from.Exec(ctx, "DROP DATABASE plimsoll_peer WITH (FORCE)")
}

// clerks holds what the users of 1,000 warehouses take who key and think as the
// specification has it: CPU and memory of the client. Their data is small, because the
// server is not what is measured.
func clerks(ctx context.Context) (all []result, err error) {
	settings := parameter.Settings{"warehouses": "20", "items": "500", "customers": "30", "reset": "false", "verify": "false", "connections": "50", "terminals": "10000", "waits": "100%"}
	l, err := made("order-entry", settings)
	if err != nil {
		return nil, err
	}
	err = withDatabase(ctx, parameter.Settings{"synchronous_commit": "off"}, func(env workload.Env, at load.Endpoint) error {
		if err := l.Prepare(ctx, env); err != nil {
			return err
		}
		values, err := drive{Workload: "order-entry", Settings: settings, At: at, Length: 20 * time.Second}.by()
		if err != nil {
			return err
		}
		if values["errors"] > 0 {
			return fmt.Errorf("%.0f of %.0f transactions failed", values["errors"], values["operations"])
		}
		const warehouses = 1000
		all = []result{
			{fmt.Sprintf("users of 1,000 warehouses, %.0f transactions/s: CPU of the client", values["rate"]), values["client.cpu"], "limit", 1, "CPUs"},
			{"the same: memory for each warehouse", (values["memory.most"] - values["memory.before"]) / warehouses / 1e6, "limit", 6, "MB"},
			{"the same: memory of the process", values["memory.most"] / 1e6, "limit", 50, "MB"},
		}
		return nil
	})
	return all, err
}
