package importer

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	_ "modernc.org/sqlite" // the driver that database/sql knows as sqlite
)

// openSQLite opens a database that is only read, and not locked. A file that is none, or
// is cut off, is an error before anything is asked of it.
func openSQLite(file string) (*sql.DB, error) {
	if err := checkSQLite(file); err != nil {
		return nil, err
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, fmt.Errorf("read the trace: %w", err)
	}
	name := url.URL{Scheme: "file", Path: path, RawQuery: "mode=ro&immutable=1"}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, fmt.Errorf("%s: open the database: %w", file, err)
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// checkSQLite compares the file with its header (SQLite, "Database File Format", section
// 1.3: the size of a page at 16, the number of pages at 28, which is valid when the
// numbers at 24 and 92 agree).
func checkSQLite(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("read the trace: %w", err)
	}
	defer f.Close()
	var head [100]byte
	if _, err := io.ReadFull(f, head[:]); err != nil || !bytes.HasPrefix(head[:], []byte("SQLite format 3\x00")) {
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("read the trace: %w", err)
		}
		return fmt.Errorf("%s: is no SQLite database: unpack the archive first, and name the .sqlite file in it", file)
	}
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read the trace: %w", err)
	}
	page := int64(binary.BigEndian.Uint16(head[16:]))
	if page == 1 {
		page = 65536
	}
	pages := int64(binary.BigEndian.Uint32(head[28:]))
	if bytes.Equal(head[24:28], head[92:96]) && info.Size() < page*pages {
		return fmt.Errorf("%s: has %d of %d bytes: the file is cut off", file, info.Size(), page*pages)
	}
	return nil
}

// checkTable says which columns a table lacks.
func checkTable(ctx context.Context, db *sql.DB, file, table string, columns ...string) error {
	rows, err := db.QueryContext(ctx, "SELECT name FROM pragma_table_info(?)", table)
	if err != nil {
		return fmt.Errorf("%s: read the database: %w", file, err)
	}
	defer rows.Close()
	var has []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return fmt.Errorf("%s: read the columns of table %s: %w", file, table, err)
		}
		has = append(has, strings.ToLower(name))
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("%s: read the columns of table %s: %w", file, table, err)
	}
	if len(has) == 0 {
		return fmt.Errorf("%s: the database has no table %s: is it the trace of this format?", file, table)
	}
	var lacks []string
	for _, c := range columns {
		if !slices.Contains(has, strings.ToLower(c)) {
			lacks = append(lacks, c)
		}
	}
	if len(lacks) > 0 {
		return fmt.Errorf("%s: table %s has no column %s", file, table, strings.Join(lacks, ", "))
	}
	return nil
}

// records goes through the columns of a table, row by row. A row counts from 1, and is
// valid until the next.
func records(ctx context.Context, db *sql.DB, query string, columns int, take func(row int64, values []any) error) error {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	values, into := make([]any, columns), make([]any, columns)
	for i := range values {
		into[i] = &values[i]
	}
	for row := int64(1); rows.Next(); row++ {
		if err := rows.Scan(into...); err != nil {
			return fmt.Errorf("row %d: %w", row, err)
		}
		if err := take(row, values); err != nil {
			return fmt.Errorf("row %d: %w", row, err)
		}
	}
	return rows.Err()
}

// key is a value as an id.
func key(v any) (string, error) {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10), nil
	case string:
		return v, nil
	case []byte:
		return string(v), nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	}
	return "", errors.New("is not there")
}

// amount is a value as a number between bounds.
func amount(v any, least, most float64) (float64, error) {
	var x float64
	switch v := v.(type) {
	case int64:
		x = float64(v)
	case float64:
		x = v
	case nil:
		return 0, errors.New("is not there")
	default:
		return 0, fmt.Errorf("%.40q is no number", fmt.Sprint(v))
	}
	if math.IsNaN(x) || x < least || x > most {
		return 0, fmt.Errorf("is %v; want %v to %v", x, least, most)
	}
	return x, nil
}
