package hoststat

import (
	"bytes"
	"io/fs"
)

// Root is the tree of files that a Reader reads, with proc and sys in it.
type Root interface {
	fs.FS
	// Append reads a file and appends its content to a buffer.
	Append(buffer []byte, name string) ([]byte, error)
	// Names lists a folder, in any order.
	Names(folder string) ([]string, error)
	// ReadLink is where a symbolic link points to.
	ReadLink(name string) (string, error)
}

// number parses the non-negative integer at the beginning of a field.
func number(b []byte) (float64, bool) {
	n, digits := uint64(0), 0
	for _, c := range b {
		if c < '0' || c > '9' {
			break
		}
		n, digits = n*10+uint64(c-'0'), digits+1
	}
	return float64(n), digits > 0
}

// numbers appends the leading numbers of a line.
func numbers(into []float64, line []byte) []float64 {
	for field := range bytes.FieldsSeq(line) {
		n, ok := number(field)
		if !ok {
			break
		}
		into = append(into, n)
	}
	return into
}

// pairs calls use for each line of a name and a number. A unit of kB makes bytes of the number.
func pairs(text []byte, use func(name []byte, value float64)) {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		end := bytes.IndexAny(line, " \t")
		if end < 0 {
			continue
		}
		name, rest := line[:end], bytes.TrimSpace(line[end:])
		value, ok := number(rest)
		if !ok {
			continue
		}
		if bytes.HasSuffix(rest, []byte(" kB")) {
			value *= 1024
		}
		use(bytes.TrimSuffix(name, []byte(":")), value)
	}
}
