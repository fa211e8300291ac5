package dataset

import (
	"context"
	"fmt"
	"strconv"

	"plimsoll/internal/workload/engine"
)

// copy creates the working database as a copy of the base.
func (d Set) copy(ctx context.Context, at engine.Server) error {
	if err := engine.Drop(ctx, at, d.Name); err != nil {
		return err
	}
	if at.Protocol == engine.MariaDB {
		return d.copyTables(ctx, at)
	}
	s, err := engine.Dial(ctx, at, "")
	if err != nil {
		return err
	}
	defer s.Close()
	rows, err := s.Query(ctx, "SHOW server_version_num")
	if err != nil {
		return fmt.Errorf("query the database version: %w", err)
	}
	how := ""
	if len(rows) == 1 && len(rows[0]) == 1 {
		if version, err := strconv.Atoi(rows[0][0]); err == nil && version >= 150000 {
			how = " STRATEGY file_copy" // does not write each page to WAL
		}
	}
	return s.Exec(ctx, "CREATE DATABASE "+d.Name+" TEMPLATE "+d.base()+how)
}

// inBulk makes MariaDB sort the rows of an empty table and insert them in bulk, with the table
// locked. It has no effect on rows sent by a client.
const inBulk = "SET unique_checks = 0, foreign_key_checks = 0"

// copyTables fills the working database table by table: MariaDB cannot copy a database.
func (d Set) copyTables(ctx context.Context, at engine.Server) error {
	if err := d.create(ctx, at, d.Name); err != nil {
		return err
	}
	s, err := engine.Dial(ctx, at, "")
	if err != nil {
		return err
	}
	defer s.Close()
	// Largest first, so that a small one is the last.
	rows, err := s.Query(ctx, "SELECT table_name FROM information_schema.tables WHERE table_schema = '"+d.base()+
		"' AND table_type = 'BASE TABLE' AND table_name <> 'plimsoll' ORDER BY data_length DESC")
	if err != nil {
		return fmt.Errorf("query its tables: %w", err)
	}
	var all []Job
	for _, row := range rows {
		all = append(all, SQL("copy of "+row[0], fmt.Sprintf("%[3]s; INSERT INTO %[2]s SELECT * FROM %[1]s.%[2]s", d.base(), row[0], inBulk)))
	}
	return d.make(ctx, place{at, d.Name}, all)
}
