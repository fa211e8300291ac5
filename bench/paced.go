package main

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
)

// turns has a load on small pages of the responder, which is in a process of its own, run several times.
func (d drive) turns(n int, fails func(values map[string]float64) error) (turns []map[string]float64, err error) {
	c := contest{service: "responder", protocol: "http", settings: parameter.Settings{"page_size": "1KiB", "pages": "1", "images": "0"}}
	err = c.serve(context.Background(), func(_ workload.Env, at load.Endpoint) error {
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

// paced is what an operation takes of the client's CPU at a fixed rate, with a tick,
// and how late it starts for that.
func paced() ([]result, error) {
	const what, tick = "web at 2,000/s, tick of 1 ms: ", time.Millisecond
	d := drive{Workload: "web", Settings: parameter.Settings{"rate": "2000/s", "tick": tick.String(), "connections": "32"}, Length: turn}
	turns, err := d.turns(rounds, func(values map[string]float64) error {
		if values["errors"] > 0 {
			return fmt.Errorf("%g operations failed", values["errors"])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return []result{
		{what + "CPU for an operation", middle(turns, "client.cpu_per_operation"), "limit", 60e-6, "s"},
		{what + "lag p50", middle(turns, "lag.p50"), "tick", tick.Seconds(), "s"},
		{what + "lag p99", middle(turns, "lag.p99"), "tick", tick.Seconds(), "s"},
	}, nil
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
