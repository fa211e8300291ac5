package mysql

import (
	"encoding/binary"
	"errors"
	"strconv"

	"plimsoll/internal/wire"
)

// The types of columns whose values are not strings of variable length.
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

// width is how many bytes a value takes; 0 where it says so itself.
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

// Row reads the values of a row of a prepared statement in their order.
type Row struct {
	rest  []byte
	nulls []byte
	types []byte
	at    int
	bad   bool
}

var errRow = errors.New("truncated row packet")

// readRow begins with the body of a packet and the types of its columns.
func readRow(body, types []byte) Row {
	n := (len(types) + 9) / 8
	if len(body) < 1+n || body[0] != headOK {
		return Row{bad: true}
	}
	return Row{rest: body[1+n:], nulls: body[1 : 1+n], types: types}
}

// More says that there are values left.
func (r *Row) More() bool { return r.at < len(r.types) && !r.bad }

// value is the next value as it travels: the text of strings and decimal numbers, and the
// bytes of integers.
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

// Text is the next value as text, nil for NULL; that of an integer is appended to b. Beyond
// the last it is nil as well, and the row is bad.
func (r *Row) Text(b []byte) []byte {
	v, kind := r.value()
	if n, whole := integer(v, kind); whole {
		return strconv.AppendInt(b, n, 10)
	}
	return v
}

// integer is the value of a column of integers.
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

// Decimal is the next value in parts of so many decimal places: 1.5 with two is 150.
// Digits beyond are cut off.
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

// End reports whether the row was whole and held what was asked of it, and no more.
func (r *Row) End() error {
	if r.bad || r.at != len(r.types) || len(r.rest) != 0 {
		return errRow
	}
	return nil
}
