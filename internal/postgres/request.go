package postgres

import (
	"encoding/binary"

	"plimsoll/internal/wire"
)

// begin appends the type of a message and space for its length, which end completes.
func begin(b []byte, kind byte) (buffer []byte, at int) {
	return append(b, kind, 0, 0, 0, 0), len(b) + 1
}

func end(b []byte, at int) []byte {
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at))
	return b
}

func text(b []byte, s string) []byte { return append(append(b, s...), 0) }

// appendQuery appends a Query message, possibly with several statements.
func appendQuery(b []byte, sql string) []byte {
	b, at := begin(b, 'Q')
	return end(text(b, sql), at)
}

// AppendSync appends Sync, the end of a pipeline: the server answers with ReadyForQuery, and
// continues there after an error.
func AppendSync(b []byte) []byte { return append(b, 'S', 0, 0, 0, 4) }

// appendCopyData appends a CopyData message with the data of fill.
func appendCopyData(b []byte, fill func([]byte) []byte) []byte {
	b, at := begin(b, 'd')
	return end(fill(b), at)
}

// appendCopyDone appends CopyDone.
func appendCopyDone(b []byte) []byte { return append(b, 'c', 0, 0, 0, 4) }

// appendTerminate appends Terminate.
func appendTerminate(b []byte) []byte { return append(b, 'X', 0, 0, 0, 4) }

// appendStartup appends the startup message, which has no type.
func appendStartup(b []byte, a wire.Account) []byte {
	at := len(b)
	b = append(b, 0, 0, 0, 0, 0, 3, 0, 0)
	b = text(text(b, "user"), a.User)
	if a.Database != "" {
		b = text(text(b, "database"), a.Database)
	}
	b = text(text(b, "application_name"), "plimsoll")
	return end(append(b, 0), at)
}

// Format is the format code of a parameter.
type Format uint16

// The formats.
const (
	AsText   Format = 0
	AsBinary Format = 1 // big-endian int4
)

// Statement is prepared once per session and then executed with parameters. It is immutable.
type Statement struct {
	name, sql string
	head      []byte // of Bind, up to the first value
}

// NewStatement returns a statement with the format codes of its parameters. Its results are in
// text format.
func NewStatement(name, sql string, parameters ...Format) *Statement {
	b, _ := begin(nil, 'B')
	b = text(text(b, ""), name)
	b = binary.BigEndian.AppendUint16(b, uint16(len(parameters)))
	for _, f := range parameters {
		b = binary.BigEndian.AppendUint16(b, uint16(f))
	}
	b = binary.BigEndian.AppendUint16(b, uint16(len(parameters)))
	return &Statement{name: name, sql: sql, head: b}
}

// AppendParse appends Parse.
func (s *Statement) AppendParse(b []byte) []byte {
	b, at := begin(b, 'P')
	b = text(text(b, s.name), s.sql)
	return end(append(b, 0, 0), at)
}

// AppendBind starts a Bind; the parameter values and AppendExecute with the same place follow.
func (s *Statement) AppendBind(b []byte) (buffer []byte, place int) {
	return append(b, s.head...), len(b) + 1
}

// AppendInt appends an integer parameter, AsBinary.
func AppendInt(b []byte, v int32) []byte {
	return append(b, 0, 0, 0, 4, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
}

// AppendText appends a parameter AsText.
func AppendText[T string | []byte](b []byte, v T) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
}

// AppendDecimal appends a numeric parameter with two decimal places, AsText, from its
// hundredths.
func AppendDecimal(b []byte, hundredths int64) []byte {
	at := len(b)
	b = wire.AppendHundredths(append(b, 0, 0, 0, 0), hundredths)
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

// AppendExecute completes Bind, and appends Execute.
func AppendExecute(b []byte, place int) []byte {
	b = end(append(b, 0, 0), place)
	return append(b, 'E', 0, 0, 0, 9, 0, 0, 0, 0, 0)
}
