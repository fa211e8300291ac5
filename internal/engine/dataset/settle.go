package dataset

import (
	"context"
	"fmt"
	"strings"
	"time"

	"plimsoll/internal/engine"
)

// longest is how long a server may take to write what it has.
const longest = 10 * time.Minute

// Use notes in the database that it is not as new any more, and has what is still in the
// server's memory written to the disk, so that the trial does not pay for what was before.
func Use(ctx context.Context, s engine.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	if err := s.Exec(ctx, noteOnce(usedNote, "yes")); err != nil {
		return fmt.Errorf("mark the data as used: %w", err)
	}
	return write(ctx, s)
}

// settle has the server know what the tables of a database hold, and write them.
func settle(ctx context.Context, s engine.Conn) error {
	analyze := "VACUUM ANALYZE"
	if engine.Speaks(s) == engine.MariaDB {
		all, err := tables(ctx, s)
		if err != nil {
			return err
		}
		analyze = "ANALYZE TABLE " + strings.Join(all, ", ")
	}
	if err := s.Exec(ctx, analyze); err != nil {
		return fmt.Errorf("analyze the tables: %w", err)
	}
	return write(ctx, s)
}

// tables are those of the database of a session of MariaDB.
func tables(ctx context.Context, s engine.Conn) (all []string, err error) {
	rows, err := s.Query(ctx, "SELECT table_name FROM information_schema.tables WHERE table_schema = database() AND table_type = 'BASE TABLE'")
	for _, row := range rows {
		all = append(all, row[0])
	}
	if err != nil {
		return nil, fmt.Errorf("list the tables: %w", err)
	}
	return all, nil
}

// write has the server write what it holds in memory of the database. A user who may not
// ask for that goes without.
func write(ctx context.Context, s engine.Conn) error {
	sql := "CHECKPOINT"
	if engine.Speaks(s) == engine.MariaDB {
		all, err := tables(ctx, s)
		if err != nil {
			return err
		}
		sql = "FLUSH TABLES " + strings.Join(all, ", ") + " FOR EXPORT; UNLOCK TABLES"
	}
	if err := s.Exec(ctx, sql); err != nil && !engine.Forbidden(err) {
		return fmt.Errorf("flush the data to disk: %w", err)
	}
	return nil
}
