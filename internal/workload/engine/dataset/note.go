package dataset

import (
	"context"
	"fmt"

	"plimsoll/internal/workload/engine"
)

// notebook is the table with the identity of a database's data, and the labels of completed
// jobs.
const notebook = "CREATE TABLE plimsoll (setting varchar(100) PRIMARY KEY, value varchar(500));"

const (
	wantNote = "want" // identity of the data being loaded
	madeNote = "made" // the load is complete
	usedNote = "used"
)

// notes are the notes of a database; nil if it does not exist or has none.
func notes(ctx context.Context, at engine.Server, name string) (map[string]string, error) {
	s, err := engine.Visit(ctx, at, name)
	if s == nil {
		return nil, err
	}
	defer s.Close()
	return said(ctx, s, name)
}

// said is the notes of the session's database.
func said(ctx context.Context, s engine.Conn, name string) (map[string]string, error) {
	rows, err := s.Query(ctx, "SELECT setting, value FROM plimsoll")
	if engine.Refused(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the contents of database %s: %w", name, err)
	}
	found := map[string]string{}
	for _, row := range rows {
		found[row[0]] = row[1]
	}
	return found, nil
}

// Holds checks that the session's database has all of the data, so that a load without it
// fails at once.
func (d Set) Holds(ctx context.Context, s engine.Conn) error {
	there, err := said(ctx, s, d.Name)
	switch {
	case err != nil:
		return err
	case there[wantNote] != d.Note:
		return fmt.Errorf("the database %s contains other data than was prepared, %q instead of %q: it was changed since", d.Name, there[wantNote], d.Note)
	case there[madeNote] == "":
		return fmt.Errorf("the database %s contains only a part of the prepared data: it was changed since", d.Name)
	}
	return nil
}

// note is SQL that inserts a note without waiting for other sessions.
func note(setting, value string) string {
	return fmt.Sprintf("INSERT INTO plimsoll VALUES ('%s', '%s')", setting, value)
}

// noteOnce is SQL that inserts a note unless it exists.
func noteOnce(setting, value string) string {
	return fmt.Sprintf("INSERT INTO plimsoll SELECT '%[1]s', '%[2]s' FROM (SELECT 1 AS one) AS o WHERE NOT EXISTS (SELECT 1 FROM plimsoll WHERE setting = '%[1]s')", setting, value)
}
