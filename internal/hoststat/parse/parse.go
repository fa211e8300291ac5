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
	into, _ = Leading(into, line)
	return into
}

// Leading appends the leading numbers of a line, and returns the text from the first field that is none.
func Leading(into []float64, line []byte) (numbers []float64, rest []byte) {
	at := 0
	for {
		for at < len(line) && blank(line[at]) {
			at++
		}
		n, digits := uint64(0), at
		for at < len(line) && '0' <= line[at] && line[at] <= '9' {
			n, at = n*10+uint64(line[at]-'0'), at+1
		}
		if at == digits {
			return into, line[at:]
		}
		into = append(into, float64(n))
		for at < len(line) && !blank(line[at]) { // such as a unit
			at++
		}
	}
}

func blank(b byte) bool { return b == ' ' || b == '\t' || b == '\n' }

// Pairs calls use for each line of a name and a number. A unit of kB makes bytes of the number.
func Pairs(text []byte, use func(name []byte, value float64)) {
	for line := range bytes.Lines(text) {
		name, rest := field(line)
		number, rest := field(rest)
		value, ok := Number(number)
		if !ok {
			continue
		}
		if unit, end := field(rest); string(unit) == "kB" && len(bytes.TrimSpace(end)) == 0 {
			value *= 1024
		}
		use(bytes.TrimSuffix(name, []byte(":")), value)
	}
}

// Fields appends the fields of a text.
func Fields(into [][]byte, text []byte) [][]byte {
	for {
		var one []byte
		if one, text = field(text); len(one) == 0 {
			return into
		}
		into = append(into, one)
	}
}

// field is the first field of a text, and what follows it.
func field(text []byte) (one, rest []byte) {
	begin := 0
	for begin < len(text) && blank(text[begin]) {
		begin++
	}
	end := begin
	for end < len(text) && !blank(text[end]) {
		end++
	}
	return text[begin:end], text[end:]
}
