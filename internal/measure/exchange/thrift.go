package exchange

import "encoding/binary"

// Kinds of fields and elements of Thrift's compact protocol.
const kindI32, kindI64, kindText, kindList, kindStruct = 5, 6, 8, 9, 12

// thrift encodes one structure in Thrift's compact protocol. Fields are written in ascending
// order of their IDs.
type thrift struct {
	b    []byte
	last int // ID of the last field
}

func (t *thrift) field(id, kind int) {
	t.b = append(t.b, byte((id-t.last)<<4|kind))
	t.last = id
}

func (t *thrift) number(n int64)        { t.b = binary.AppendVarint(t.b, n) }
func (t *thrift) bytes(s string)        { t.b = append(binary.AppendUvarint(t.b, uint64(len(s))), s...) }
func (t *thrift) i32(id, n int)         { t.field(id, kindI32); t.number(int64(n)) }
func (t *thrift) i64(id int, n int64)   { t.field(id, kindI64); t.number(n) }
func (t *thrift) text(id int, s string) { t.field(id, kindText); t.bytes(s) }

// list writes the header of a list, whose elements follow.
func (t *thrift) list(id, kind, n int) {
	t.field(id, kindList)
	if n < 15 {
		t.b = append(t.b, byte(n<<4|kind))
		return
	}
	t.b = binary.AppendUvarint(append(t.b, byte(0xf0|kind)), uint64(n))
}

func (t *thrift) structure(id int, fill func(*thrift)) {
	t.field(id, kindStruct)
	t.element(fill)
}

// element writes a structure as an element of a list.
func (t *thrift) element(fill func(*thrift)) {
	inner := thrift{b: t.b}
	fill(&inner)
	t.b = inner.end()
}

// end ends the structure.
func (t *thrift) end() []byte { return append(t.b, 0) }
