package dataset

import (
	"context"
	"fmt"
	"strings"
	"time"

	"plimsoll/internal/workload/engine"
)

// longest is the time limit for flushing.
const longest = 10 * time.Minute

// Use marks the data as used, and flushes dirty pages, so that the trial does not pay for
// earlier writes.
func Use(ctx context.Context, s engine.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	if err := s.Exec(ctx, noteOnce(usedNote, "yes")); err != nil {
		return fmt.Errorf("mark the data as used: %w", err)
	}
	return write(ctx, s)
}

// settle analyzes the tables of a database, and flushes them.
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

// write flushes the server's dirty pages (CHECKPOINT, FLUSH TABLES), if the user has the
// privilege.
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
