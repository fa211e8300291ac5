package mysql

import (
	"encoding/binary"
	"errors"
	"strconv"

	"plimsoll/internal/wire"
)

// The column types with binary values.
const (
	typeTiny      = 1
	typeShort     = 2
	typeLong      = 3
	typeFloat     = 4
	typeDouble    = 5
	typeNull      = 6
	typeTimestamp = 7
	typeLongLong  = 8
	typeInt24     = 9
	typeDate      = 10
	typeTime      = 11
	typeDateTime  = 12
	typeYear      = 13
)

// width is the size of a value in bytes; 0 for a length-encoded one.
func width(kind byte) int {
	switch kind {
	case typeTiny:
		return 1
	case typeShort, typeYear:
		return 2
	case typeLong, typeInt24, typeFloat:
		return 4
	case typeLongLong, typeDouble:
		return 8
	}
	return 0
}

// Row parses the values of a binary row in order.
type Row struct {
	rest  []byte
	nulls []byte
	types []byte
	at    int
	bad   bool
}

var errRow = errors.New("truncated row packet")

// readRow starts with the body of a packet and the types of its columns.
func readRow(body, types []byte) Row {
	n := (len(types) + 9) / 8
	if len(body) < 1+n || body[0] != headOK {
		return Row{bad: true}
	}
	return Row{rest: body[1+n:], nulls: body[1 : 1+n], types: types}
}

// More reports whether the row has more values.
func (r *Row) More() bool { return r.at < len(r.types) && !r.bad }

// value is the next value in its wire format: the text of strings and decimals, and the bytes
// of integers.
func (r *Row) value() (v []byte, kind byte) {
	if !r.More() {
		r.bad = true
		return nil, typeNull
	}
	kind = r.types[r.at]
	bit := r.at + 2
	r.at++
	if kind == typeNull || r.nulls[bit/8]&(1<<(bit%8)) != 0 {
		return nil, typeNull
	}
	n := width(kind)
	if n == 0 {
		var ok bool
		if v, r.rest, ok = text(r.rest); !ok {
			r.bad = true
		}
		return v, kind
	}
	if len(r.rest) < n {
		r.bad = true
		return nil, kind
	}
	v, r.rest = r.rest[:n:n], r.rest[n:]
	return v, kind
}

// Text is the next value as text, nil for NULL; integers are appended to b. After the last
// value it is nil as well, and End fails.
func (r *Row) Text(b []byte) []byte {
	v, kind := r.value()
	if n, whole := integer(v, kind); whole {
		return strconv.AppendInt(b, n, 10)
	}
	return v
}

// integer is the value of an integer column.
func integer(v []byte, kind byte) (n int64, whole bool) {
	if len(v) == 0 {
		return 0, false
	}
	switch kind {
	case typeLong, typeInt24:
		return int64(int32(binary.LittleEndian.Uint32(v))), true
	case typeLongLong:
		return int64(binary.LittleEndian.Uint64(v)), true
	case typeShort:
		return int64(int16(binary.LittleEndian.Uint16(v))), true
	case typeTiny:
		return int64(int8(v[0])), true
	}
	return 0, false
}

// Decimal is the next value as a fixed-point number with so many decimal places: 1.5 with two
// is 150. Further digits are truncated.
func (r *Row) Decimal(places int) int64 {
	v, kind := r.value()
	if r.bad {
		return 0
	}
	n, whole := integer(v, kind)
	if !whole {
		n, ok := wire.Decimal(v, places)
		r.bad = !ok
		return n
	}
	for range places {
		if n > (1<<63-1)/10 || n < -(1<<63-1)/10 {
			r.bad = true
			return 0
		}
		n *= 10
	}
	return n
}

// End returns an error if the row was truncated, or if more or fewer values were read than it
// has.
func (r *Row) End() error {
	if r.bad || r.at != len(r.types) || len(r.rest) != 0 {
		return errRow
	}
	return nil
}
