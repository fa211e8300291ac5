package engine

// Row reads the values of a row in their order. It allocates nothing.
type Row struct{ values values }

// More reports whether the row has more values.
func (r *Row) More() bool { return r.values.More() }

// Value is the next value as text, nil for NULL; valid until the next call. After the last
// value it is nil as well, and End fails. Times of MariaDB are in its binary format.
func (r *Row) Value() []byte { return r.values.Value() }

// Int is the next value as an integer.
func (r *Row) Int() int64 { return r.Decimal(0) }

// Decimal is the next value as a fixed-point number with so many decimal places: 1.5 with two
// is 150. Further digits are truncated.
func (r *Row) Decimal(places int) int64 { return r.values.Decimal(places) }

// Bool is the next value as a boolean. NULL is false.
func (r *Row) Bool() bool {
	v := r.Value()
	return len(v) == 1 && (v[0] == 't' || v[0] == '1')
}

// End checks that the row was valid and all of its values were read.
func (r *Row) End() error { return r.values.End() }

// Rest skips the remaining values.
func (r *Row) Rest() error {
	for r.More() {
		r.Value()
	}
	return r.End()
}
