package main

import (
	"context"
	"fmt"
	"math"
	"syscall"
	"time"

	"plimsoll/bench/measured"
	"plimsoll/bench/minimal"
	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
)

// small serves small pages, by a responder in a process of its own.
var small = contest{service: "responder", protocol: "http", settings: parameter.Settings{"page_size": "1KiB", "pages": "1", "images": "0"}}

// turns has a load on small pages run several times.
func (d drive) turns(n int, fails func(values map[string]float64) error) (turns []map[string]float64, err error) {
	err = small.serve(context.Background(), func(_ workload.Env, at load.Endpoint) error {
		d.At = at
		for range n {
			values, err := d.by()
			if err == nil {
				err = fails(values)
			}
			if err != nil {
				return err
			}
			turns = append(turns, values)
		}
		return nil
	})
	return turns, err
}

// paced is what an operation takes of the client's CPU at a fixed rate with a tick, how late it starts for that, and how its service time differs
// from that of a client that spins until each operation is due, in alternating turns.
func paced() ([]result, error) {
	const what, tick, rate, connections = "web at 2,000/s, tick of 1 ms: ", time.Millisecond, 2000, 32
	inC, err := minimal.Compile()
	if err != nil {
		return nil, err
	}
	defer inC.Remove()
	var with, spinning []map[string]float64
	var least []float64
	for range rounds {
		for _, c := range []struct {
			tick time.Duration
			of   *[]map[string]float64
		}{{tick, &with}, {0, &spinning}} {
			d := drive{Workload: "web", Settings: parameter.Settings{"rate": fmt.Sprintf("%d/s", rate), "tick": c.tick.String(), "connections": fmt.Sprint(connections)}, Length: turn}
			turns, err := d.turns(1, noErrors)
			if err != nil {
				return nil, err
			}
			*c.of = append(*c.of, turns...)
		}
		err := small.serve(context.Background(), func(_ workload.Env, at load.Endpoint) error {
			cost, err := inC.Run(minimal.Load{Port: port(at), Request: firstPage, Connections: connections, Length: turn, Rate: rate, Tick: tick})
			least = append(least, cost)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	for i, v := range with {
		for _, name := range []string{"service.p50", "service.p99"} {
			v[name+" off"] = math.Abs(v[name] - spinning[i][name])
		}
	}
	return []result{
		{what + "CPU for an operation", middle(with, "client.cpu_per_operation"), "limit", 25e-6, "s"},
		{what + "CPU for an operation", middle(with, "client.cpu_per_operation"), "C", measured.Middle(least), "s"},
		{what + "CPU for an operation in C", measured.Middle(least), "limit", 25e-6, "s"},
		{what + "lag p50", middle(with, "lag.p50"), "tick", tick.Seconds(), "s"},
		{what + "lag p99", middle(with, "lag.p99"), "tick", tick.Seconds(), "s"},
		{what + "service p50 against a spinning client, difference", middle(with, "service.p50 off"), "limit", 10e-6, "s"},
		{what + "service p99 against a spinning client, difference", middle(with, "service.p99 off"), "limit", 30e-6, "s"},
		{what + "service p50", middle(with, "service.p50"), "a spinning client", middle(spinning, "service.p50"), "s"},
		{what + "service p99", middle(with, "service.p99"), "a spinning client", middle(spinning, "service.p99"), "s"},
	}, nil
}

func noErrors(values map[string]float64) error {
	if values["errors"] > 0 {
		return fmt.Errorf("%g operations failed", values["errors"])
	}
	return nil
}

// users is how many simulated users there are at once, and spare how many more files
// the server and the client have open.
const users, spare = 10_000, 256

// memory is what users who mostly think take of the client. Each has its
// connection, and asks once or twice, so that all its buffers were used.
func memory() ([]result, error) {
	if err := files(users + spare); err != nil {
		return nil, err
	}
	d := drive{Workload: "web", Settings: parameter.Settings{"connections": fmt.Sprint(users), "think": "5s"}, Length: 8 * time.Second}
	turns, err := d.turns(3, func(values map[string]float64) error {
		if values["errors"] > 0 || values["operations"] < users {
			return fmt.Errorf("%d users did %g operations, and %g failed", users, values["operations"], values["errors"])
		}
		values["memory.user"] = (values["memory.most"] - values["memory.before"]) / users
		return nil
	})
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("%d users who think: ", users)
	return []result{
		{what + "memory of one", middle(turns, "memory.user"), "limit", 16 << 10, "B"},
		{what + "memory of the process", middle(turns, "memory.most") / 1e6, "limit", 50, "MB"},
	}, nil
}

// files makes sure that this process, and those that it starts, may have so many files
// open.
func files(n uint64) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("ask for the limit of open files: %w", err)
	}
	if limit.Cur >= n {
		return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit) // or else a child gets the limit from before Go raised it
	}
	raised := syscall.Rlimit{Cur: n, Max: max(limit.Max, n)}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &raised); err != nil {
		return fmt.Errorf("%d users need %d open files and this machine allows %d: not measured; raise the limit (ulimit -n)", users, n, limit.Max)
	}
	return nil
}
