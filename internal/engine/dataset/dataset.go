// Package dataset loads the data of a workload into databases: by several sessions, resumed
// after an interruption, and copied for each trial that starts with the initial data. It also
// checks the consistency of the data after a load.
package dataset

import (
	"context"
	"errors"
	"fmt"
	"net"

	"plimsoll/internal/engine"
	"plimsoll/internal/load"
)

// Job is the work of one session, in one transaction where the engine supports that. Many
// rows are loaded in several transactions.
type Job struct {
	Label string // under which the database records that it is done
	Do    func(ctx context.Context, s engine.Conn) error

	rows *rows  // in place of Do
	from string // how many calls an interrupted load has written
}

// Set is the data of a load, for servers of one protocol.
type Set struct {
	Name    string // of the database that is worked on; that with _base is what it is copied from
	Note    string // what the data is; a database that says so of itself is not filled again
	Reset   bool   // each trial begins with a copy
	Loaders int    // sessions that fill at once
	Usual   bool   // text compares as the server has it, and not by its bytes
	Tables  string // SQL that makes the tables
	Fill    []Job
	// Keys is SQL for the full tables, in any order, some at once. MariaDB may be asked for
	// it again after a crash, and so each has to bear that there.
	Keys []string
	// Programs is what else a database holds, as triggers and routines: SQL that is run in
	// order at the end, for the copies of MariaDB as well. It has to bear what Keys have to.
	Programs []string
	// Undo takes back what loads did, in order. MariaDB copies no databases: where it can
	// undo, it does that instead of copying rows, and there is only one database. What is
	// begun anew after a crash has to do the same; with ErrSpoilt, all of it is made anew.
	Undo []Job
}

// SQL is a job of SQL statements.
func SQL(label, sql string) Job {
	return Job{Label: label, Do: func(ctx context.Context, s engine.Conn) error { return s.Exec(ctx, sql) }}
}

func (d Set) base() string { return d.Name + "_base" }

// Prepare has the data at all servers, as new where each trial is to begin so.
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

// Clean removes the databases of a service. A server that is gone holds none.
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
