package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/engine"
)

// mariadb holds what loads on MariaDB cost against sysbench and the server's own way.
func mariadb() ([]result, error) {
	one, err := sysbenchSelects(context.Background())
	other, err2 := loading(context.Background())
	return append(one, other...), errors.Join(err, err2)
}

// sysbenchSelects holds the CPU time of the client for a select of one row against that of
// sysbench, which prepares the same statement on the same table.
func sysbenchSelects(ctx context.Context) ([]result, error) {
	c := contest{
		what: "MariaDB: select of one row, 8 sessions", service: "mariadb", protocol: engine.MariaDB, workload: "oltp", peer: "sysbench",
		load: parameter.Settings{"connections": "8", "rows": "100000"},
		argv: func(at load.Endpoint) []string {
			host, port, _ := strings.Cut(at.Address, ":")
			return []string{
				"sysbench", "oltp_point_select", "--db-driver=mysql", "--mysql-host=" + host, "--mysql-port=" + port, "--mysql-user=" + at.User, "--mysql-db=plimsoll_oltp",
				"--tables=1", "--table-size=100000", "--rand-type=uniform", "--threads=8", fmt.Sprintf("--time=%g", turn.Seconds()), "run",
			}
		},
		operations: counted(`transactions: +(\d+)`),
	}
	return c.one(ctx)
}

// loading holds the time in which a table is made and filled against the server's own
// way: a LOAD DATA from a file that lies with it.
func loading(ctx context.Context) (all []result, err error) {
	l, err := made("oltp", parameter.Settings{"rows": "300000", "loaders": "1"})
	if err != nil {
		return nil, err
	}
	c := contest{service: "mariadb", protocol: engine.MariaDB, settings: parameter.Settings{"innodb_log_file_size": "512MiB"}}
	err = c.serve(ctx, func(env workload.Env, _ load.Endpoint) error {
		servers, err := engine.Servers(env.Target, env.Dial)
		if err != nil {
			return err
		}
		ours, theirs, err := alternately(ctx, l, env, func() (float64, error) { return loaded(ctx, servers[0]) })
		all = []result{{"MariaDB: table of 300,000 rows made and filled", ours, "LOAD DATA from a file", theirs, "s"}}
		return err
	})
	return all, err
}

// loaded makes the table of the workload oltp from a file, and says how long that took.
func loaded(ctx context.Context, at engine.Server) (float64, error) {
	s, err := engine.Dial(ctx, at, "plimsoll_oltp")
	if err != nil {
		return 0, err
	}
	defer s.Close()
	rows, err := s.Query(ctx, "SELECT concat(@@tmpdir, '/', uuid())")
	if err != nil {
		return 0, err
	}
	file := rows[0][0]
	if err := s.Exec(ctx, "DROP DATABASE IF EXISTS plimsoll_peer; CREATE DATABASE plimsoll_peer; SELECT * FROM sbtest1 INTO OUTFILE '"+file+"'"); err != nil {
		return 0, err
	}
	begin := time.Now()
	for _, sql := range []string{
		"CREATE TABLE plimsoll_peer.sbtest1 (id int NOT NULL, k int NOT NULL DEFAULT 0, c char(120) NOT NULL DEFAULT '', pad char(60) NOT NULL DEFAULT '', PRIMARY KEY (id))",
		"LOAD DATA INFILE '" + file + "' INTO TABLE plimsoll_peer.sbtest1",
		"CREATE INDEX k_1 ON plimsoll_peer.sbtest1 (k)",
		"ANALYZE TABLE plimsoll_peer.sbtest1", "FLUSH TABLES plimsoll_peer.sbtest1 FOR EXPORT", "UNLOCK TABLES",
	} {
		if err := s.Exec(ctx, sql); err != nil {
			return 0, err
		}
	}
	return time.Since(begin).Seconds(), nil
}
