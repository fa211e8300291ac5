package dataset

import (
	"fmt"
	"strings"

	"plimsoll/internal/workload/engine"
)

// Table is a table of a set, in SQL that all engines support.
type Table struct {
	Name    string
	Columns string // with PostgreSQL's types
	Key     string // columns of the primary key; empty for none
	Room    int    // percentage of each page left free for updates (fillfactor), if supported
	Indexes []Index
}

// Index is created after the table is loaded.
type Index struct {
	Name, Columns string
	Unique        bool
}

// Schema is the SQL that creates tables on servers of a protocol, and keys and indexes after
// loading. PostgreSQL builds primary keys faster then; InnoDB clusters rows by primary key and
// needs it from the start.
func Schema(protocol string, tables []Table) (create string, keys []string) {
	var b strings.Builder
	for _, t := range tables {
		if protocol == engine.MariaDB {
			b.WriteString(t.mariaDB())
		} else {
			b.WriteString(t.postgreSQL())
		}
		keys = append(keys, t.keys(protocol)...)
	}
	return b.String(), keys
}

func (t Table) postgreSQL() string {
	how := ""
	if t.Room > 0 {
		how = fmt.Sprintf(" WITH (fillfactor = %d)", 100-t.Room)
	}
	return "CREATE TABLE " + t.Name + " (" + t.Columns + ")" + how + ";\n"
}

func (t Table) mariaDB() string {
	// A time of day without a zone. MariaDB's type of that name is another.
	columns := strings.ReplaceAll(t.Columns, " timestamp", " datetime(6)")
	if t.Key != "" {
		columns += ", PRIMARY KEY (" + t.Key + ")"
	}
	return "CREATE TABLE " + t.Name + " (" + columns + ") ENGINE = InnoDB;\n"
}

func (t Table) keys(protocol string) (all []string) {
	if protocol == engine.MariaDB {
		// One statement per table reads its rows once.
		var parts []string
		for _, i := range t.Indexes {
			parts = append(parts, "ADD "+i.unique()+"INDEX IF NOT EXISTS "+i.Name+" ("+i.Columns+")")
		}
		if len(parts) > 0 {
			all = []string{"ALTER TABLE " + t.Name + " " + strings.Join(parts, ", ")}
		}
		return all
	}
	if t.Key != "" {
		all = append(all, "ALTER TABLE "+t.Name+" ADD PRIMARY KEY ("+t.Key+")")
	}
	for _, i := range t.Indexes {
		all = append(all, "CREATE "+i.unique()+"INDEX "+i.Name+" ON "+t.Name+" ("+i.Columns+")")
	}
	return all
}

func (i Index) unique() string {
	if i.Unique {
		return "UNIQUE "
	}
	return ""
}
