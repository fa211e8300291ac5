package dataset

import (
	"context"
	"fmt"

	"plimsoll/internal/engine"
)

// notebook is the table in which a database says what it is. Beside the settings here, each
// job that is done is noted by its label.
const notebook = "CREATE TABLE plimsoll (setting varchar(100) PRIMARY KEY, value varchar(500));"

const (
	wantNote = "want" // what is being made
	madeNote = "made" // and all of it is there
	usedNote = "used"
)

// notes are what a database says about itself; nil where it does not exist, or has nothing
// to say.
func notes(ctx context.Context, at engine.Server, name string) (map[string]string, error) {
	s, err := engine.Visit(ctx, at, name)
	if s == nil {
		return nil, err
	}
	defer s.Close()
	return said(ctx, s, name)
}

// said is what the database of a session says about itself.
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

// Holds looks that the database of a session has all of the data, so that a load without it
// ends before it begins.
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

// note has a database say something of itself that it does not say yet. Sessions that do so
// at once do not wait for each other.
func note(setting, value string) string {
	return fmt.Sprintf("INSERT INTO plimsoll VALUES ('%s', '%s')", setting, value)
}

// noteOnce has a database say something of itself, which it may say already.
func noteOnce(setting, value string) string {
	return fmt.Sprintf("INSERT INTO plimsoll SELECT '%[1]s', '%[2]s' FROM (SELECT 1 AS one) AS o WHERE NOT EXISTS (SELECT 1 FROM plimsoll WHERE setting = '%[1]s')", setting, value)
}
