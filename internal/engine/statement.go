package engine

import (
	"encoding/binary"
	"strconv"
	"strings"

	"plimsoll/internal/mysql"
	"plimsoll/internal/postgres"
)

// Format is the kind of a parameter.
type Format byte

// The formats.
const (
	AsInt     Format = iota // of 32 bits
	AsText                  // or any other type as text
	AsLong                  // of 64 bits, for a bigint
	AsDecimal               // with two decimal places
)

// Statement is a statement of a load.
type Statement struct {
	Name string // in a session
	// SQL has parameters as $1, $2 and so on.
	SQL        string
	Parameters []Format
	// Plain is for those that begin or end a transaction, which not every engine prepares.
	Plain bool
	// MariaDB is what MariaDB is asked instead, where it does not understand the SQL: one
	// statement, or several with the same parameters that are done one after the other and
	// are one for the load. Their rows are those of the statement.
	MariaDB []string
}

// Value is that of a parameter.
type Value struct {
	n    int64
	text []byte
	word string // instead of the text
}

// Int is an integer, AsInt or AsLong.
func Int(n int) Value { return Value{n: int64(n)} }

// Decimal is a number in hundredths, AsDecimal.
func Decimal(hundredths int64) Value { return Value{n: hundredths} }

// Text is a string, or any other type as text. It must stay as it is until it was said.
func Text(b []byte) Value { return Value{text: b} }

// Word is a string of the program.
func Word(s string) Value { return Value{word: s} }

// Book is the statements of a load, for all of its sessions.
type Book struct {
	protocol string
	list     []Statement
	postgres []*postgres.Statement
	mysql    []*mysql.Statement
	parts    [][]part // of each in the list, for MariaDB
}

// part is one of the statements that MariaDB is asked for one of a load.
type part struct {
	number int   // in mysql
	order  []int // of the parameters, as MariaDB takes them
}

// NewBook makes the book of a load on servers of a protocol. A statement is known by its
// number in the list.
func NewBook(protocol string, list []Statement) *Book {
	k := &Book{protocol: protocol, list: list}
	for _, s := range list {
		if protocol == PostgreSQL {
			formats := make([]postgres.Format, len(s.Parameters))
			for i, f := range s.Parameters {
				formats[i] = postgresFormats[f]
			}
			k.postgres = append(k.postgres, postgres.NewStatement(s.Name, s.SQL, formats...))
			continue
		}
		var parts []part
		for _, sql := range s.forMariaDB() {
			sql, order := marks(sql)
			formats := make([]mysql.Format, len(order))
			for i, n := range order {
				formats[i] = mysqlFormats[s.Parameters[n]]
			}
			parts = append(parts, part{len(k.mysql), order})
			k.mysql = append(k.mysql, mysql.NewStatement(sql, formats...))
		}
		k.parts = append(k.parts, parts)
	}
	return k
}

// Protocol is that of the servers for which the book was made.
func (k *Book) Protocol() string { return k.protocol }

var (
	postgresFormats = [...]postgres.Format{AsInt: postgres.AsBinary, AsText: postgres.AsText, AsLong: postgres.AsBinary, AsDecimal: postgres.AsText}
	mysqlFormats    = [...]mysql.Format{AsInt: mysql.AsInt, AsText: mysql.AsText, AsLong: mysql.AsLong, AsDecimal: mysql.AsDecimal}
)

// forMariaDB is what is prepared there: nothing of what goes as text.
func (s *Statement) forMariaDB() []string {
	switch {
	case s.Plain:
		return nil
	case s.MariaDB != nil:
		return s.MariaDB
	}
	return []string{s.SQL}
}

func (v Value) appendPostgres(b []byte, f Format) []byte {
	switch f {
	case AsInt:
		return postgres.AppendInt(b, int32(v.n))
	case AsLong:
		return binary.BigEndian.AppendUint64(append(b, 0, 0, 0, 8), uint64(v.n))
	case AsDecimal:
		return postgres.AppendDecimal(b, v.n)
	}
	if v.word != "" {
		return postgres.AppendText(b, v.word)
	}
	return postgres.AppendText(b, v.text)
}

func (v Value) appendMySQL(b []byte, f Format) []byte {
	switch f {
	case AsInt:
		return mysql.AppendInt(b, int32(v.n))
	case AsLong:
		return binary.LittleEndian.AppendUint64(b, uint64(v.n))
	case AsDecimal:
		at := len(b)
		b = postgres.FormatDecimal(append(b, 0), v.n)
		b[at] = byte(len(b) - at - 1)
		return b
	}
	if v.word != "" {
		return mysql.AppendText(b, v.word)
	}
	return mysql.AppendText(b, v.text)
}

// marks turns $1 and the like into question marks, and says which parameter each is, from
// 0.
func marks(sql string) (string, []int) {
	var b strings.Builder
	var order []int
	for {
		before, after, found := strings.Cut(sql, "$")
		b.WriteString(before)
		if !found {
			return b.String(), order
		}
		digits := len(after) - len(strings.TrimLeft(after, "0123456789"))
		n, err := strconv.Atoi(after[:digits])
		if err != nil {
			b.WriteByte('$') // a dollar sign
		} else {
			b.WriteByte('?')
			order = append(order, n-1)
		}
		sql = after[digits:]
	}
}
