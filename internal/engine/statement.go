package engine

import (
	"encoding/binary"

	"plimsoll/internal/mysql"
	"plimsoll/internal/postgres"
	"plimsoll/internal/wire"
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

// Statement is a prepared statement of a load.
type Statement struct {
	Name string // in a session
	// SQL has parameters as $1, $2 and so on.
	SQL        string
	Parameters []Format
	// Plain statements begin or end a transaction and are not prepared on MariaDB.
	Plain bool
	// MariaDB replaces SQL that MariaDB does not support: by one statement, or by several
	// with the same parameters, which count as one. Their rows are those of the statement.
	MariaDB []string
}

// Value is the value of a parameter.
type Value struct {
	n    int64
	text []byte
	word string // instead of the text
}

// Int is an integer, AsInt or AsLong.
func Int(n int) Value { return Value{n: int64(n)} }

// Decimal is a number in hundredths, AsDecimal.
func Decimal(hundredths int64) Value { return Value{n: hundredths} }

// Text is a string, or any other type as text. It must not change until it is appended.
func Text(b []byte) Value { return Value{text: b} }

// Word is a constant string.
func Word(s string) Value { return Value{word: s} }

// Book is the statements of a load in a dialect, for all of its sessions.
type Book struct {
	protocol string
	requests [][]request // of each statement
	goesOn   bool        // statements of a round after one that failed
	session  func(who wire.Account, first string) protocol
}

// request is one of those that a statement becomes.
type request struct {
	number    int
	arguments []argument // in the order in which the server takes them
}

type argument struct {
	value int // index among those of the statement
	as    encoding
}

// NewBook makes the book of a load on servers of a protocol. A statement is known by its
// number in the list.
func NewBook(protocol string, list []Statement) *Book { return dialects[protocol].prepare(list) }

// Protocol is the protocol of the servers.
func (k *Book) Protocol() string { return k.protocol }

// encoding is how a value travels in a dialect. It is looked up once for each parameter of a
// book: a call by way of a function or an interface for each value takes a quarter more time.
type encoding uint8

const (
	postgresInt encoding = iota
	postgresText
	postgresLong
	postgresDecimal
	mysqlInt
	mysqlText
	mysqlLong
	mysqlDecimal
)

func (e encoding) append(b []byte, v *Value) []byte {
	switch e {
	case postgresInt:
		return postgres.AppendInt(b, int32(v.n))
	case postgresLong:
		return binary.BigEndian.AppendUint64(append(b, 0, 0, 0, 8), uint64(v.n))
	case postgresDecimal:
		return postgres.AppendDecimal(b, v.n)
	case mysqlInt:
		return mysql.AppendInt(b, int32(v.n))
	case mysqlLong:
		return binary.LittleEndian.AppendUint64(b, uint64(v.n))
	case mysqlDecimal:
		return mysql.AppendDecimal(b, v.n)
	case postgresText:
		if v.word == "" {
			return postgres.AppendText(b, v.text)
		}
		return postgres.AppendText(b, v.word)
	}
	if v.word == "" {
		return mysql.AppendText(b, v.text)
	}
	return mysql.AppendText(b, v.word)
}
