package engine

import (
	"strconv"
	"strings"

	"plimsoll/internal/mysql"
	"plimsoll/internal/postgres"
)

// Format is the kind of a parameter.
type Format byte

// The formats.
const (
	AsInt Format = iota
	AsText
)

// Statement is a statement of a load.
type Statement struct {
	Name string // in a session
	// SQL has parameters as $1, $2 and so on.
	SQL        string
	Parameters []Format
	// Plain is for those that begin or end a transaction, which not every engine prepares.
	Plain bool
}

// Value is that of a parameter.
type Value struct {
	n    int32
	text []byte
}

// Int is an integer.
func Int(n int) Value { return Value{n: int32(n)} }

// Text is a string, or any other type as text. It must stay as it is until it was said.
func Text(b []byte) Value { return Value{text: b} }

// Book is the statements of a load, for all of its sessions.
type Book struct {
	protocol string
	list     []Statement
	postgres []*postgres.Statement
	mysql    []*mysql.Statement
	number   []int   // in mysql, of each in the list
	order    [][]int // of the parameters, as MariaDB takes them
}

// NewBook makes the book of a load on servers of a protocol. A statement is known by its
// number in the list.
func NewBook(protocol string, list []Statement) *Book {
	k := &Book{protocol: protocol, list: list}
	for _, s := range list {
		if protocol == PostgreSQL {
			formats := make([]postgres.Format, len(s.Parameters))
			for i, f := range s.Parameters {
				formats[i] = map[Format]postgres.Format{AsInt: postgres.AsBinary, AsText: postgres.AsText}[f]
			}
			k.postgres = append(k.postgres, postgres.NewStatement(s.Name, s.SQL, formats...))
			continue
		}
		sql, order := marks(s.SQL)
		k.number, k.order = append(k.number, len(k.mysql)), append(k.order, order)
		if s.Plain {
			continue
		}
		formats := make([]mysql.Format, len(order))
		for i, n := range order {
			formats[i] = map[Format]mysql.Format{AsInt: mysql.AsInt, AsText: mysql.AsText}[s.Parameters[n]]
		}
		k.mysql = append(k.mysql, mysql.NewStatement(sql, formats...))
	}
	return k
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
