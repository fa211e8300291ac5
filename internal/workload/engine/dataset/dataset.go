// Package dataset loads the data of a workload into databases: by several sessions, resumed
// after an interruption, and copied for each trial that starts with the initial data. It also
// checks the consistency of the data after a load.
package dataset

import (
	"context"
	"errors"
	"fmt"
	"net"

	"plimsoll/internal/load"
	"plimsoll/internal/workload/engine"
)

// Job is the work of one session, in one transaction if the engine supports that. Large tables
// are loaded in several transactions.
type Job struct {
	Label string // recorded in the database when it is done
	Do    func(ctx context.Context, s engine.Conn) error

	rows *rows  // instead of Do
	from string // number of calls that an interrupted load has written
}

// Set is the data of a load, for servers of one protocol.
type Set struct {
	Name    string // of the working database; the suffix _base is the one it is copied from
	Note    string // identifies the data; a database with this note is not loaded again
	Reset   bool   // each trial starts with a copy
	Loaders int    // concurrent sessions
	Usual   bool   // text compares by the server's default collation, not by bytes, and rows are ASCII
	Tables  string // SQL that creates the tables
	Fill    []Job
	// Keys is SQL for the loaded tables, executed concurrently in any order. On MariaDB it may
	// be repeated after a crash and must be idempotent.
	Keys []string
	// Programs is SQL for other objects, such as triggers and routines, executed in order at
	// the end, also for copies on MariaDB. It must be idempotent like Keys.
	Programs []string
	// Undo reverts the changes of loads, in order. On MariaDB, which cannot copy databases, it
	// replaces the copy, and there is only one database. It must be idempotent; after
	// ErrSpoilt, the data is loaded again.
	Undo []Job
}

// SQL is a job of SQL statements.
func SQL(label, sql string) Job {
	return Job{Label: label, Do: func(ctx context.Context, s engine.Conn) error { return s.Exec(ctx, sql) }}
}

func (d Set) base() string { return d.Name + "_base" }

// Prepare loads the data at all servers, or resets it if each trial starts from the initial
// data.
func (d Set) Prepare(ctx context.Context, at []engine.Server) error {
	return engine.Each(ctx, at, func(ctx context.Context, _ int, at engine.Server) error {
		if err := d.prepare(ctx, at); ctx.Err() == nil {
			return err
		}
		return context.Cause(ctx)
	})
}

func (d Set) prepare(ctx context.Context, at engine.Server) error {
	first := d.Name
	if d.copied(at.Protocol) {
		first = d.base()
	}
	there, err := notes(ctx, at, first)
	if err != nil {
		return err
	}
	if !d.copied(at.Protocol) && d.Reset && there[wantNote] == d.Note && there[usedNote] != "" {
		err := d.undo(ctx, place{at, first})
		if !errors.Is(err, ErrSpoilt) {
			return err
		}
		there = nil
	}
	if there[wantNote] != d.Note {
		if err := engine.Drop(ctx, at, d.Name, d.base()); err != nil {
			return err
		}
		if err := d.create(ctx, at, first); err != nil {
			return fmt.Errorf("create the database %s at %s: %w", first, at.Address, err)
		}
		there = nil
	}
	if there[madeNote] == "" {
		if err := d.make(ctx, place{at, first}, d.Fill); err != nil {
			return fmt.Errorf("fill the database %s at %s: %w", first, at.Address, err)
		}
	}
	if !d.copied(at.Protocol) {
		return nil
	}
	there, err = notes(ctx, at, d.Name)
	if err != nil || there[wantNote] == d.Note && there[madeNote] != "" && there[usedNote] == "" {
		return err
	}
	if err := d.copy(ctx, at); err != nil {
		return fmt.Errorf("copy the database %s at %s: %w", d.base(), at.Address, err)
	}
	return nil
}

// Clean removes the databases of a service. A server that is down has none.
func (d Set) Clean(ctx context.Context, target func(protocol string) (load.Endpoint, error), dial func(context.Context, load.Endpoint) (net.Conn, error)) error {
	at, err := engine.Servers(target, dial)
	if err != nil {
		return nil //nolint:nilerr // none runs
	}
	return engine.Each(ctx, at, func(ctx context.Context, _ int, at engine.Server) error {
		if err := engine.Drop(ctx, at, d.Name, d.base()); err != nil && !engine.Gone(err) {
			return err
		}
		return nil
	})
}
