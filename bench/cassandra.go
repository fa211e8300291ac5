package main

import (
	"context"
	"fmt"
	"maps"
	"time"

	"plimsoll/internal/cql/cqltest"
	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
)

// inserts are writes alone, of about 1 KB.
func inserts(more parameter.Settings) parameter.Settings {
	s := parameter.Settings{"read_ratio": "0", "rampup": "0", "mode": "faithful", "write_consistency": "one", "connections": "4", "in_flight": "32"}
	maps.Copy(s, more)
	return s
}

// nullInserts holds what an insert of cql-iot costs the client, on a server that does
// nothing, and the memory of a hundred connections.
func nullInserts() ([]result, error) {
	s := &cqltest.Server{Tokens: "0"}
	address, err := s.Listen()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	at := load.Endpoint{Network: "tcp", Address: address}
	if err := readied(context.Background(), workload.Env{Target: func(string) (load.Endpoint, error) { return at, nil }}); err != nil {
		return nil, err
	}
	return insertsTo(at, "cql-iot on a server that does nothing", false)
}

// readied makes the keyspace of the inserts.
func readied(ctx context.Context, env workload.Env) error {
	l, err := made("cql-iot", inserts(nil))
	if err != nil {
		return err
	}
	return l.Prepare(ctx, env)
}

// insertsTo has the kinds of load take turns. The Go driver asks more of a server than
// one that does nothing can tell.
func insertsTo(at load.Endpoint, what string, peer bool) ([]result, error) {
	kinds := []parameter.Settings{nil, {"protocol": "4"}, {"rate": "2000/s", "tick": "1ms"}, {"connections": "100", "in_flight": "16"}}
	if peer {
		kinds[3] = parameter.Settings{"driver": "gocql"}
	}
	turns := make([][]map[string]float64, len(kinds))
	for range rounds {
		for i, more := range kinds {
			values, err := drive{Workload: "cql-iot", Settings: inserts(more), At: at, Length: turn}.by()
			if err != nil {
				return nil, err
			}
			if values["errors"] > values["operations"]/100 {
				return nil, fmt.Errorf("%v: %g of %g operations failed", more, values["errors"], values["operations"])
			}
			turns[i] = append(turns[i], values)
		}
	}
	cpu := func(i int) float64 { return middle(turns[i], "client.cpu_per_operation") }
	rate := func(i int) float64 { return middle(turns[i], "rate") }
	all := []result{
		{fmt.Sprintf("%s: CPU for an insert, protocol 5, %.0f/s", what, rate(0)), cpu(0), "limit", 5e-6, "s"},
		{fmt.Sprintf("the same, protocol 4, %.0f/s", rate(1)), cpu(1), "limit", 5e-6, "s"},
		{"the same at 2,000/s with a tick of 1 ms", cpu(2), "limit", 60e-6, "s"},
	}
	if peer {
		return append(all, result{fmt.Sprintf("%s: CPU for an insert; by the Go driver, %.0f/s", what, rate(3)), cpu(0), "gocql", cpu(3), "s"}), nil
	}
	return append(all, result{"memory of the process with 100 connections", middle(turns[3], "memory.most") / 1e6, "limit", 50, "MB"}), nil
}

// realInserts is the same on Cassandra, once it has compiled itself.
func realInserts() (all []result, err error) {
	ctx := context.Background()
	c := contest{service: "cassandra", protocol: "cql", settings: parameter.Settings{"heap": "512MiB", "collector": "serial"}}
	err = c.serve(ctx, func(env workload.Env, at load.Endpoint) error {
		if err := readied(ctx, env); err != nil {
			return err
		}
		if _, err := (drive{Workload: "cql-iot", Settings: inserts(nil), At: at, Length: 15 * time.Second}).by(); err != nil {
			return err
		}
		all, err = insertsTo(at, "cql-iot on Cassandra", true)
		return err
	})
	return all, err
}
