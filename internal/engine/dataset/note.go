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
	s, err := engine.Dial(ctx, at, name)
	if engine.Absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer s.Close()
	rows, err := s.Query(ctx, "SELECT setting, value FROM plimsoll")
	if engine.Refused(err) {
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

// note has a database say something of itself, once.
func note(setting, value string) string {
	return fmt.Sprintf("INSERT INTO plimsoll SELECT '%[1]s', '%[2]s' FROM (SELECT 1 AS one) AS o WHERE NOT EXISTS (SELECT 1 FROM plimsoll WHERE setting = '%[1]s')", setting, value)
}
