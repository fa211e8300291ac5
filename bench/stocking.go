package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os/exec"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/postgres"
	"plimsoll/internal/wire"
	"plimsoll/internal/workload"
)

// stocking holds the time in which the shop of dvdstore is made, generated and sent by
// one session, against the server's own way: COPY from files that lie with it, and the
// same keys.
func stocking() (all []result, err error) {
	ctx := context.Background()
	l, err := made("dvdstore", parameter.Settings{"size": "2MB", "reset": "false", "loaders": "1"})
	if err != nil {
		return nil, err
	}
	err = withDatabase(ctx, nil, func(env workload.Env, at load.Endpoint) error {
		ours, theirs, err := alternately(ctx, l, env, func() (float64, error) { return restocked(ctx, at) })
		all = []result{{"shop of dvdstore, 2MB, made and filled", ours, "COPY from files", theirs, "s"}}
		return err
	})
	return all, err
}

// restocked makes the shop again from files and from what pg_dump says of its tables
// and keys, and says how long that took.
func restocked(ctx context.Context, at load.Endpoint) (float64, error) {
	place := wire.Target{Network: at.Network, Address: at.Address, User: at.User, Database: at.Database}
	host, port, err := net.SplitHostPort(at.Address)
	if err != nil {
		return 0, err
	}
	schema := func(section string) ([]byte, error) {
		return run(ctx, nil, "pg_dump", "-h", host, "-p", port, "-U", at.User, "--section="+section, "plimsoll_dvdstore")
	}
	first, err := schema("pre-data")
	if err != nil {
		return 0, err
	}
	last, err := schema("post-data")
	if err != nil {
		return 0, err
	}
	from, err := postgres.Dial(ctx, place, "plimsoll_dvdstore")
	if err != nil {
		return 0, err
	}
	defer from.Close()
	tables, err := from.Query(ctx, "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> 'plimsoll'")
	if err != nil {
		return 0, err
	}
	for _, t := range tables {
		if err := from.Exec(ctx, "COPY "+t[0]+" TO PROGRAM 'cat > plimsoll-bench."+t[0]+"'"); err != nil { // in the folder of the server's data
			return 0, err
		}
	}
	begin := time.Now()
	if err := from.Exec(ctx, "CREATE DATABASE plimsoll_peer"); err != nil {
		return 0, err
	}
	fill := ""
	for _, t := range tables {
		fill += fmt.Sprintf("COPY %[1]s FROM 'plimsoll-bench.%[1]s';\n", t[0])
	}
	for _, sql := range [][]byte{first, []byte(fill), last, []byte("VACUUM ANALYZE; CHECKPOINT;")} {
		if _, err := run(ctx, sql, "psql", "-h", host, "-p", port, "-U", at.User, "-q", "-v", "ON_ERROR_STOP=1", "plimsoll_peer"); err != nil {
			return 0, err
		}
	}
	took := time.Since(begin).Seconds()
	return took, from.Exec(ctx, "DROP DATABASE plimsoll_peer WITH (FORCE)")
}

// run runs a program with an input, and returns what it printed.
func run(ctx context.Context, in []byte, name string, words ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, name, words...)
	var said bytes.Buffer
	c.Stdin, c.Stderr = bytes.NewReader(in), &said
	printed, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", name, err, said.String())
	}
	return printed, nil
}
