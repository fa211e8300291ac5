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
	// SQL has parameters $1, $2 and so on.
	SQL        string
	Parameters []Format
	// Plain statements begin or end a transaction and are not prepared on MariaDB.
	Plain bool
	// MariaDB replaces SQL that MariaDB does not support: by one statement, or by several with
	// the same parameters, which count as one.
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

// Statements are those of a load in a dialect, for all of its sessions.
type Statements struct {
	protocol string
	requests [][]request // of each statement
	goesOn   bool        // statements of a round after one that failed
	session  func(who wire.Account, first string) protocol
}

// request is one protocol request of a statement.
type request struct {
	number    int
	arguments []argument // in the order of the protocol
}

type argument struct {
	value int // index among those of the statement
	as    encoding
}

// NewBook prepares the statements of a load for servers of a protocol. Statements are
// identified by their index in the list.
func NewBook(protocol string, list []Statement) *Statements { return dialects[protocol].prepare(list) }

// Protocol is the protocol of the servers.
func (k *Statements) Protocol() string { return k.protocol }

// encoding is the wire format of a value in a dialect, looked up once per parameter of a book:
// an indirect call for each value takes 25 % more time.
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
