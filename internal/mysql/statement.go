package mysql

import (
	"encoding/binary"

	"plimsoll/internal/wire"
)

// Format is the type of a parameter.
type Format byte

// The formats.
const (
	AsInt     Format = 3   // little-endian, 4 bytes
	AsLong    Format = 8   // of eight
	AsDecimal Format = 246 // as text
	AsText    Format = 253 // a string, which the server converts to the column's type
)

// Statement is prepared once per session and then executed with parameters. It is immutable.
type Statement struct {
	sql  string
	head []byte // of COM_STMT_EXECUTE, up to the first value
}

// idAt is the offset of the statement ID in the head.
const idAt = headLength + 1

// NewStatement returns a statement with the types of its parameters, which are question marks
// in the SQL.
func NewStatement(sql string, parameters ...Format) *Statement {
	b, _ := begin(nil, 0)
	b = append(b, comExecute, 0, 0, 0, 0, 0, 1, 0, 0, 0)
	if len(parameters) > 0 {
		b = append(b, make([]byte, (len(parameters)+7)/8)...) // none is NULL
		b = append(b, 1)
		for _, f := range parameters {
			b = append(b, byte(f), 0)
		}
	}
	return &Statement{sql: sql, head: b}
}

// AppendPrepare appends COM_STMT_PREPARE.
func (s *Statement) AppendPrepare(b []byte) []byte { return command(b, comPrepare, s.sql) }

// appendBind starts an execution; the parameter values and end with the same place follow.
func (s *Statement) appendBind(b []byte, id uint32) (buffer []byte, place int) {
	place = len(b)
	b = append(b, s.head...)
	binary.LittleEndian.PutUint32(b[place+idAt:], id)
	return b, place
}

// AppendInt appends a value AsInt.
func AppendInt(b []byte, v int32) []byte {
	return append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
}

// AppendText appends a value AsText.
func AppendText[T string | []byte](b []byte, v T) []byte {
	return append(appendNumber(b, len(v)), v...)
}

// AppendDecimal appends a number with two decimal places, AsDecimal, from its hundredths.
func AppendDecimal(b []byte, hundredths int64) []byte {
	at := len(b)
	b = wire.AppendHundredths(append(b, 0), hundredths)
	b[at] = byte(len(b) - at - 1)
	return b
}
