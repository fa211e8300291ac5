// Package parse parses the text of files of /proc and /sys.
package parse

import "bytes"

// Number parses the non-negative integer at the beginning of a field.
func Number(b []byte) (float64, bool) {
	n, digits := uint64(0), 0
	for _, c := range b {
		if c < '0' || c > '9' {
			break
		}
		n, digits = n*10+uint64(c-'0'), digits+1
	}
	return float64(n), digits > 0
}

// Numbers appends the leading numbers of a line.
func Numbers(into []float64, line []byte) []float64 {
	for field := range bytes.FieldsSeq(line) {
		n, ok := Number(field)
		if !ok {
			break
		}
		into = append(into, n)
	}
	return into
}

// Pairs calls use for each line of a name and a number. A unit of kB makes bytes of the number.
func Pairs(text []byte, use func(name []byte, value float64)) {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		end := bytes.IndexAny(line, " \t")
		if end < 0 {
			continue
		}
		name, rest := line[:end], bytes.TrimSpace(line[end:])
		value, ok := Number(rest)
		if !ok {
			continue
		}
		if bytes.HasSuffix(rest, []byte(" kB")) {
			value *= 1024
		}
		use(bytes.TrimSuffix(name, []byte(":")), value)
	}
}
