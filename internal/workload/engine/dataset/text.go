package dataset

import "strconv"

// The text format of COPY and LOAD DATA: values are separated by a tab, rows end with a
// newline.

// Tab appends the separator of values.
func Tab(b []byte) []byte { return append(b, '\t') }

// Line appends the end of a row.
func Line(b []byte) []byte { return append(b, '\n') }

// Null appends a null value.
func Null(b []byte) []byte { return append(b, `\N`...) }

// Integers appends integers, each with a tab after it.
func Integers(b []byte, list ...int) []byte {
	for _, n := range list {
		b = Tab(strconv.AppendInt(b, int64(n), 10))
	}
	return b
}
