package postgres

import (
	"encoding/binary"

	"plimsoll/internal/wire"
)

// begin appends the head of a message, whose length end fills in.
func begin(b []byte, kind byte) (buffer []byte, at int) {
	return append(b, kind, 0, 0, 0, 0), len(b) + 1
}

func end(b []byte, at int) []byte {
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at))
	return b
}

func text(b []byte, s string) []byte { return append(append(b, s...), 0) }

// appendQuery appends a query of the simple protocol, which may hold several
// statements.
func appendQuery(b []byte, sql string) []byte {
	b, at := begin(b, 'Q')
	return end(text(b, sql), at)
}

// AppendSync appends the end of a pipeline: the server answers with Ready, and goes
// on there after an error.
func AppendSync(b []byte) []byte { return append(b, 'S', 0, 0, 0, 4) }

// appendCopyData appends data for a COPY, made by fill.
func appendCopyData(b []byte, fill func([]byte) []byte) []byte {
	b, at := begin(b, 'd')
	return end(fill(b), at)
}

// appendCopyDone appends the end of the data of a COPY.
func appendCopyDone(b []byte) []byte { return append(b, 'c', 0, 0, 0, 4) }

// appendTerminate appends the end of a session.
func appendTerminate(b []byte) []byte { return append(b, 'X', 0, 0, 0, 4) }

// appendStartup appends the first message of a session, which has no kind.
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

// Format is how a value travels.
type Format uint16

// The formats.
const (
	AsText   Format = 0
	AsBinary Format = 1 // big-endian integers of four bytes, here
)

// Statement is a statement that is prepared once for each session and then executed
// with parameters. It is made by NewStatement and never written afterwards.
type Statement struct {
	name, sql string
	head      []byte // of a Bind, up to the first value
}

// NewStatement makes a statement of the given name, with the formats of its
// parameters. Its results travel as text.
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

// AppendParse appends what prepares the statement.
func (s *Statement) AppendParse(b []byte) []byte {
	b, at := begin(b, 'P')
	b = text(text(b, s.name), s.sql)
	return end(append(b, 0, 0), at)
}

// AppendBind begins an execution: the values of the parameters follow, in order, and
// then AppendExecute with the same place.
func (s *Statement) AppendBind(b []byte) (buffer []byte, place int) {
	return append(b, s.head...), len(b) + 1
}

// AppendInt appends a value of a parameter of type integer, AsBinary.
func AppendInt(b []byte, v int32) []byte {
	return append(b, 0, 0, 0, 4, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
}

// AppendText appends a value of a parameter AsText.
func AppendText[T string | []byte](b []byte, v T) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
}

// AppendDecimal appends a value of type numeric with two decimal places, AsText, from
// its hundredths.
func AppendDecimal(b []byte, hundredths int64) []byte {
	at := len(b)
	b = wire.AppendHundredths(append(b, 0, 0, 0, 0), hundredths)
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

// AppendExecute ends what AppendBind began, and has it executed.
func AppendExecute(b []byte, place int) []byte {
	b = end(append(b, 0, 0), place)
	return append(b, 'E', 0, 0, 0, 9, 0, 0, 0, 0, 0)
}
