package engine

// Row reads the values of a row in their order. It allocates nothing.
type Row struct{ values values }

// More says that there are values left.
func (r *Row) More() bool { return r.values.More() }

// Value is the next value as text, nil for NULL; valid until the next call. Beyond the last
// it is nil as well, and the row is bad. Times of MariaDB are as they travel.
func (r *Row) Value() []byte { return r.values.Value() }

// Int is the next value as a number without a fraction.
func (r *Row) Int() int64 { return r.Decimal(0) }

// Decimal is the next value in units of so many decimal places: 1.5 with two is 150.
// Digits beyond are cut off.
func (r *Row) Decimal(places int) int64 { return r.values.Decimal(places) }

// Bool is the next value as a truth. NULL is false.
func (r *Row) Bool() bool {
	v := r.Value()
	return len(v) == 1 && (v[0] == 't' || v[0] == '1')
}

// End says whether the row was whole and held what was asked of it, and no more.
func (r *Row) End() error { return r.values.End() }

// Rest passes over the values that are left, and is the end.
func (r *Row) Rest() error {
	for r.More() {
		r.Value()
	}
	return r.End()
}
