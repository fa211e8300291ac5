// Package transact runs loads of SQL transactions: preparation, run and report, which all such
// workloads share. A workload adds its schema, script and verification.
package transact

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/socket"
	"plimsoll/internal/measure"
	"plimsoll/internal/wire"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dataset"
)

// Load is a workload with the settings of a study.
type Load struct {
	Name        string // of the workload
	Database    string
	Data        func(protocol string, seed uint64) dataset.Set
	Offer       workload.Offer
	Connections int
	Keeps       bool // transactions do not change the data
}

// Prepare loads the data at all servers, or resets it if each trial starts from the initial
// data.
func (l Load) Prepare(ctx context.Context, env workload.Env) error {
	at, err := engine.Servers(env.Target, env.Dial)
	if err != nil {
		return err
	}
	return l.Data(at[0].Protocol, env.Seed).Prepare(ctx, at)
}

// Clean removes the databases of a service. A server that is down has none.
func (l Load) Clean(ctx context.Context, env workload.Env) error {
	return dataset.Set{Name: l.Database}.Clean(ctx, env.Target, env.Dial)
}

// Trial is a run of a load. T is the tally of a connection, B the state of a server before the
// load.
type Trial[T, B any] struct {
	Load
	Env   workload.Env
	Stage load.Stage
	Out   *measure.Recorder
	// Before queries the state of a server's data before the load.
	Before func(ctx context.Context, s engine.Conn) (B, error)
	// Job is the load without the parts that follow from the settings: its dialogues, classes
	// and think times.
	Job func(c *Running[T, B]) load.Job
}

// Running is a trial in progress, with its results.
type Running[T, B any] struct {
	At      []engine.Server
	Account wire.Account
	Before  []B // at each server
	Ledger  load.Ledger[T]
	Took    time.Duration

	trial Trial[T, B]
}

// Begin checks that the data is as prepared, marks it as used, and queries the state of each
// server.
func (t Trial[T, B]) Begin(ctx context.Context) (*Running[T, B], error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	at, err := engine.Servers(t.Env.Target, t.Env.Dial)
	if err != nil {
		return nil, err
	}
	c := &Running[T, B]{At: at, Before: make([]B, len(at)), trial: t}
	if c.Account, err = at[0].Account(t.Database); err != nil {
		return nil, err
	}
	return c, engine.Each(ctx, at, func(ctx context.Context, number int, at engine.Server) error {
		s, err := engine.Visit(ctx, at, t.Database)
		switch {
		case err != nil:
			return err
		case s == nil:
			return fmt.Errorf("the database %s at %s does not hold what was prepared: something else changed it since", t.Database, at.Address)
		}
		defer s.Close()
		if err := t.Data(at.Protocol, t.Env.Seed).Holds(ctx, s); err != nil {
			return err
		}
		if !t.Keeps {
			if err := dataset.Use(ctx, s); err != nil {
				return err
			}
		}
		c.Before[number], err = t.Before(ctx, s)
		return err
	})
}

// Seed is the seed of the trial's draws.
func (c *Running[T, B]) Seed() uint64 { return c.trial.Stage.Seed }

// Run begins, and runs transactions until Stage.Length or until the recorder has enough.
func (t Trial[T, B]) Run(ctx context.Context) (*Running[T, B], error) {
	c, err := t.Begin(ctx)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	err = socket.Run(ctx, c.Job(), t.Out)
	c.Took = time.Since(began)
	return c, err
}

// Job is the load for the load core.
func (c *Running[T, B]) Job() load.Job {
	job := c.trial.Job(c)
	job.Stage, job.Connections = c.trial.Stage, c.trial.Connections
	return engine.Aim(c.trial.Offer.Paced(job), c.At)
}

// Report logs the failures of all connections and records their number. It is an error if the
// run was canceled.
func (c *Running[T, B]) Report(ctx context.Context, sum engine.Count) error {
	if sum.Failures > 0 && c.trial.Env.Log != nil {
		c.trial.Env.Log("%d operations failed, the first with: %s", sum.Failures, sum.Why)
	}
	c.trial.Out.Observe(c.trial.Name+".connections", strconv.Itoa(min(c.Ledger.Made()/len(c.At), c.trial.Connections)))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// After queries each server after the load.
func After[A, T, B any](ctx context.Context, c *Running[T, B], ask func(ctx context.Context, s engine.Conn) (A, error)) ([]A, error) {
	all, err := engine.GatherAfter(ctx, c.At, c.trial.Database, ask)
	if err != nil {
		return nil, fmt.Errorf("inspect the data after the load: %w", err)
	}
	return all, nil
}
