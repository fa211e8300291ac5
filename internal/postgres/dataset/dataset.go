// Package dataset keeps the data of a load in databases of PostgreSQL: tables that are
// filled once, by several sessions at the same time, and copied for each trial where
// each is to begin with the same data.
package dataset

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"plimsoll/internal/postgres"
)

// Job is something that one session does by itself.
type Job func(ctx context.Context, s *postgres.Conn) error

// Set is the data of a load.
type Set struct {
	Name    string // of the database that is worked on; that with _base is what it is copied from
	Note    string // what the data is; a database that says so of itself is not filled again
	Reset   bool   // each trial begins with a copy
	Loaders int    // sessions that fill at once
	Tables  string // SQL that makes the tables
	Fill    []Job
	Keys    []string // SQL for the full tables, in any order, some at once
}

// notebook is the table in which a database says what it is.
const notebook = "CREATE TABLE plimsoll (setting text PRIMARY KEY, value text)"

const (
	madeNote = "made"
	usedNote = "used"
)

func (d Set) base() string { return d.Name + "_base" }

// Prepare has the data at a place, as new where each trial is to begin so.
func (d Set) Prepare(ctx context.Context, at postgres.Place) error {
	first := d.Name
	if d.Reset {
		first = d.base()
	}
	there, err := notes(ctx, at, first)
	if err != nil {
		return err
	}
	if there[madeNote] != d.Note {
		if err := d.Remove(ctx, at); err != nil {
			return err
		}
		if err := d.make(ctx, at, first); err != nil {
			return fmt.Errorf("fill the database %s at %s: %w", first, at.Address, err)
		}
	}
	if !d.Reset {
		return nil
	}
	there, err = notes(ctx, at, d.Name)
	if err != nil || there[madeNote] == d.Note && there[usedNote] == "" {
		return err
	}
	return d.copy(ctx, at)
}

// notes are what a database says about itself; nil where it does not exist, or is not
// whole.
func notes(ctx context.Context, at postgres.Place, name string) (map[string]string, error) {
	s, err := postgres.Dial(ctx, at, name)
	if postgres.Absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer s.Close()
	rows, err := s.Query(ctx, "SELECT setting, value FROM plimsoll")
	var f *postgres.Fault
	if errors.As(err, &f) && !f.Fatal {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what database %s holds: %w", name, err)
	}
	found := map[string]string{}
	for _, row := range rows {
		found[row[0]] = row[1]
	}
	return found, nil
}

// make makes a database and fills it.
func (d Set) make(ctx context.Context, at postgres.Place, name string) error {
	s, err := postgres.Dial(ctx, at, "")
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return err
	}
	inside, err := postgres.Dial(ctx, at, name)
	if err != nil {
		return err
	}
	defer inside.Close()
	if err := inside.Exec(ctx, notebook+";"+d.Tables); err != nil {
		return fmt.Errorf("make the tables: %w", err)
	}
	if err := d.together(ctx, at, name, d.Fill); err != nil {
		return err
	}
	var indexes []Job
	for _, sql := range d.Keys {
		indexes = append(indexes, func(ctx context.Context, s *postgres.Conn) error { return s.Exec(ctx, sql) })
	}
	if err := d.together(ctx, at, name, indexes); err != nil {
		return err
	}
	for _, sql := range []string{"VACUUM ANALYZE", "CHECKPOINT", "INSERT INTO plimsoll VALUES ('" + madeNote + "', '" + d.Note + "')"} {
		if err := inside.Exec(ctx, sql); err != nil && !(sql == "CHECKPOINT" && postgres.Forbidden(err)) {
			return err
		}
	}
	return nil
}

// copy makes the database that is worked on, as the other one is.
func (d Set) copy(ctx context.Context, at postgres.Place) error {
	s, err := postgres.Dial(ctx, at, "")
	if err != nil {
		return err
	}
	defer s.Close()
	rows, err := s.Query(ctx, "SHOW server_version_num")
	if err != nil {
		return fmt.Errorf("ask for the version of the database: %w", err)
	}
	how := ""
	if len(rows) == 1 && len(rows[0]) == 1 {
		if version, err := strconv.Atoi(rows[0][0]); err == nil && version >= 150000 {
			how = " STRATEGY file_copy" // without a word in the log for each page
		}
	}
	for _, sql := range []string{
		"DROP DATABASE IF EXISTS " + d.Name + " WITH (FORCE)",
		"CREATE DATABASE " + d.Name + " TEMPLATE " + d.base() + how,
	} {
		if err := s.Exec(ctx, sql); err != nil {
			return fmt.Errorf("copy the database %s: %w", d.base(), err)
		}
	}
	return nil
}

// Remove removes the databases.
func (d Set) Remove(ctx context.Context, at postgres.Place) error {
	return postgres.Drop(ctx, at, d.Name, d.base())
}

// Use notes in the database that it is not as new any more, and has what is still in the
// server's memory written to the disk, so that the trial does not pay for what was before.
func Use(ctx context.Context, s *postgres.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	if err := s.Exec(ctx, "INSERT INTO plimsoll VALUES ('"+usedNote+"', 'yes') ON CONFLICT DO NOTHING"); err != nil {
		return fmt.Errorf("note that the data is used: %w", err)
	}
	if err := s.Exec(ctx, "CHECKPOINT"); err != nil && !postgres.Forbidden(err) {
		return fmt.Errorf("write a checkpoint: %w", err)
	}
	return nil
}
