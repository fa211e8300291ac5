package postgres

import (
	"encoding/binary"
	"errors"

	"plimsoll/internal/wire"
)

// Row parses the values of a DataRow in order.
type Row struct {
	rest []byte
	left int
	bad  bool
}

var errRow = errors.New("truncated DataRow")

// ReadRow begins with the body of a DataRow.
func ReadRow(body []byte) Row {
	if len(body) < 2 {
		return Row{bad: true}
	}
	return Row{rest: body[2:], left: int(binary.BigEndian.Uint16(body))}
}

// More reports whether the row has more values.
func (r *Row) More() bool { return r.left > 0 && !r.bad }

// Value is the next value, nil for NULL. After the last value it is nil as well, and End
// fails.
func (r *Row) Value() []byte {
	if r.bad || r.left == 0 || len(r.rest) < 4 {
		r.bad = true
		return nil
	}
	r.left--
	n := int32(binary.BigEndian.Uint32(r.rest))
	r.rest = r.rest[4:]
	if n == -1 {
		return nil
	}
	if n < 0 || int(n) > len(r.rest) {
		r.bad = true
		return nil
	}
	v := r.rest[:n:n]
	r.rest = r.rest[n:]
	return v
}

// Decimal is the next value as a fixed-point number with so many decimal places: 1.5 with two
// is 150. Further digits are truncated.
func (r *Row) Decimal(places int) int64 {
	n, ok := wire.Decimal(r.Value(), places)
	r.bad = r.bad || !ok
	return n
}

// End returns an error if the row was truncated, or if more or fewer values were read than it
// has.
func (r *Row) End() error {
	if r.bad || r.left != 0 || len(r.rest) != 0 {
		return errRow
	}
	return nil
}
