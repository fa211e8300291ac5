package cql

import "encoding/binary"

// Consistency is a consistency level.
type Consistency uint16

// Consistencies are the levels for reads and writes, by the names of CQL.
func Consistencies() map[string]Consistency {
	return map[string]Consistency{
		"any": 0, "one": 1, "two": 2, "three": 3, "quorum": 4, "all": 5, "local_quorum": 6, "each_quorum": 7, "local_one": 10,
	}
}

// The levels that this package uses itself.
const (
	One Consistency = 1
	All Consistency = 5
)

// writer appends requests of one connection.
type writer struct {
	version Version
	framed  bool
}

// begin appends the header of a message, which end completes.
func (w writer) begin(b []byte, code Opcode, stream int) (buffer []byte, at int) {
	at = len(b)
	if w.framed {
		b = append(b, 0, 0, 0, 0, 0, 0)
	}
	return append(b, byte(w.version), 0, byte(stream>>8), byte(stream), byte(code), 0, 0, 0, 0), at
}

func (w writer) end(b []byte, at int) []byte {
	head := at
	if w.framed {
		head += frameHead
	}
	binary.BigEndian.PutUint32(b[head+5:], uint32(len(b)-head-headLength))
	if w.framed {
		return closeFrame(b, at)
	}
	return b
}

func (w writer) startup(b []byte) []byte {
	b, at := w.begin(b, opStartup, 0)
	b = binary.BigEndian.AppendUint16(b, 2)
	b = appendShort(appendShort(b, "CQL_VERSION"), "3.0.0")
	b = appendShort(appendShort(b, "DRIVER_NAME"), "plimsoll")
	return w.end(b, at)
}

// plain appends the token of SASL PLAIN.
func (w writer) plain(b []byte, a Account) []byte {
	b, at := w.begin(b, opAuthAnswer, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(len(a.User)+len(a.Password)+2))
	b = append(append(append(append(b, 0), a.User...), 0), a.Password...)
	return w.end(b, at)
}

func (w writer) prepare(b []byte, stream int, text string) []byte {
	b, at := w.begin(b, opPrepare, stream)
	b = AppendBytes(b, text)
	if w.version == V5 {
		b = append(b, 0, 0, 0, 0)
	}
	return w.end(b, at)
}

// query appends a statement without parameters.
func (w writer) query(b []byte, stream int, text string, c Consistency) []byte {
	b, at := w.begin(b, opQuery, stream)
	b = AppendBytes(b, text)
	b = binary.BigEndian.AppendUint16(b, uint16(c))
	if w.version == V5 {
		b = append(b, 0, 0, 0)
	}
	return w.end(append(b, 0), at)
}

// Statement is prepared once per connection, and then executed by index with parameters. It is
// immutable.
type Statement struct {
	Text        string
	Parameters  int
	Consistency Consistency
}

const (
	flagValues       = 0x01
	flagSkipMetadata = 0x02
)

// prepared is a statement prepared on one connection.
type prepared struct {
	id, result []byte
	head       []byte // of an EXECUTE with the outer frame's header, up to the first value
}

func (w writer) ready(p *prepared, s Statement) {
	b, _ := w.begin(nil, opExecute, 0)
	b = appendShort(b, p.id)
	if w.version == V5 {
		b = appendShort(b, p.result)
	}
	b = binary.BigEndian.AppendUint16(b, uint16(s.Consistency))
	flags := byte(flagValues | flagSkipMetadata)
	if w.version == V5 {
		b = append(b, 0, 0, 0)
	}
	p.head = binary.BigEndian.AppendUint16(append(b, flags), uint16(s.Parameters))
}

// AppendBytes appends a parameter as bytes: texts, blobs and UUIDs.
func AppendBytes[T string | []byte](b []byte, v T) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
}

// AppendLong appends a parameter of type bigint or timestamp, in milliseconds.
func AppendLong(b []byte, v int64) []byte {
	return binary.BigEndian.AppendUint64(append(b, 0, 0, 0, 8), uint64(v))
}
