package web

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// head is what the head of an answer says about where the answer ends.
type head struct {
	status  int
	length  int64 // of the body; -1 where it is not given
	chunked bool
	closing bool // the server will close the connection
	keeps   bool // it says that it will not
	old     bool // it speaks HTTP/1.0
}

// start is how answers of HTTP/1 begin; the digit of the minor version follows.
const start = "HTTP/1."

// begins refuses what is no answer as soon as that shows.
func begins(line []byte) error {
	n := min(len(start), len(line))
	if string(line[:n]) != start[:n] {
		return fmt.Errorf("%.20q is not an HTTP/1.1 response", line)
	}
	return nil
}

// parseStatus reads a line such as "HTTP/1.1 200 OK".
func parseStatus(line []byte) (head, error) {
	const shortest = "HTTP/1.1 200"
	bad := len(line) < len(shortest) || line[7] != '0' && line[7] != '1' || line[8] != ' ' ||
		len(line) > len(shortest) && line[len(shortest)] != ' '
	status := 0
	for i := 9; i < len(shortest) && !bad; i++ {
		bad = line[i] < '0' || line[i] > '9'
		status = 10*status + int(line[i]-'0')
	}
	if bad || status < 100 {
		return head{}, fmt.Errorf("%.40q is not a status line", line)
	}
	return head{status: status, length: -1, old: line[7] == '0'}, nil
}

// take reads a header field.
func (h *head) take(line []byte) error {
	name, value, err := field(line)
	if err != nil {
		return err
	}
	switch len(name) {
	case len("connection"):
		if is(name, "connection") {
			closing, keeps := options(trim(value))
			h.closing, h.keeps = h.closing || closing, h.keeps || keeps
		}
	case len("content-length"):
		if is(name, "content-length") {
			return h.setLength(trim(value))
		}
	case len("transfer-encoding"):
		if is(name, "transfer-encoding") {
			return h.setEncoding(trim(value))
		}
	}
	return nil
}

// options reports what a Connection field says about the connection's end.
func options(value []byte) (closing, keeps bool) {
	switch { // mostly one name
	case is(value, "keep-alive"):
		return false, true
	case is(value, "close"):
		return true, false
	}
	return lists(value, "close"), lists(value, "keep-alive")
}

// whole concludes from all fields.
func (h *head) whole() error {
	h.closing = h.closing || h.old && !h.keeps
	switch {
	case h.chunked && h.length >= 0:
		return errors.New("a response with both Content-Length and chunked encoding")
	case h.chunked && h.old:
		return errors.New("a chunked HTTP/1.0 response")
	}
	return nil
}

func (h *head) setLength(value []byte) error {
	n, err := number(value, 10)
	if err != nil {
		return fmt.Errorf("content-length: %w", err)
	}
	if h.length >= 0 && n != h.length {
		return fmt.Errorf("conflicting Content-Length: %d and %d", h.length, n)
	}
	h.length = n
	return nil
}

func (h *head) setEncoding(value []byte) error {
	if !is(value, "chunked") || h.chunked {
		return fmt.Errorf("unsupported Transfer-Encoding %.40q", value)
	}
	h.chunked = true
	return nil
}

// printable takes the end off a line, which must be that of RFC 9112, and wants no
// other control character than tabs.
func printable(line []byte) ([]byte, error) {
	text := line[:len(line)-1]
	if n := len(text); n > 0 && text[n-1] == '\r' {
		text = text[:n-1]
	} else {
		return nil, fmt.Errorf("%.40q ends without a carriage return, which parsers interpret differently", line)
	}
	if !clean(text) {
		return nil, fmt.Errorf("%.40q has a control character, which parsers interpret differently", line)
	}
	return text, nil
}

// clean reports whether a text has no control character but tabs. It looks at eight
// bytes at once: taking a blank from each borrows exactly where one is less.
func clean(text []byte) bool {
	const blanks, highest = 0x2020202020202020, 0x8080808080808080
	for rest := text; ; rest = rest[8:] {
		if len(rest) < 8 {
			return slowlyClean(rest)
		}
		if x := binary.LittleEndian.Uint64(rest); (x-blanks)&^x&highest != 0 && !slowlyClean(rest[:8]) {
			return false
		}
	}
}

func slowlyClean(text []byte) bool {
	for _, c := range text {
		if c < ' ' && c != '\t' {
			return false
		}
	}
	return true
}

// field parts a line such as "Server: nginx". The value may have blanks around it.
func field(line []byte) (name, value []byte, err error) {
	end := 0
	for end < len(line) && token[line[end]] {
		end++
	}
	if end == 0 || end == len(line) || line[end] != ':' {
		return nil, nil, fmt.Errorf("%.40q is not a header field", line)
	}
	return line[:end], line[end+1:], nil
}

// trim takes blanks off both ends.
func trim(text []byte) []byte {
	for len(text) > 0 && blank(text[0]) {
		text = text[1:]
	}
	for len(text) > 0 && blank(text[len(text)-1]) {
		text = text[:len(text)-1]
	}
	return text
}

func blank(c byte) bool { return c == ' ' || c == '\t' }

// token says which bytes a name may have (RFC 9110, 5.6.2).
var token = func() (t [256]bool) {
	for c := '0'; c <= 'z'; c++ {
		t[c] = c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a'
	}
	for _, c := range "!#$%&'*+-.^_`|~" {
		t[c] = true
	}
	return t
}()

// lists reports whether a list of names separated by commas has the wanted one, which is
// in lower case.
func lists(value []byte, want string) bool {
	for len(value) > 0 {
		var one []byte
		one, value, _ = bytes.Cut(value, comma)
		if is(trim(one), want) {
			return true
		}
	}
	return false
}

var comma = []byte(",")

// is compares without regard to case. The wanted text is in lower case.
func is(text []byte, want string) bool {
	if len(text) != len(want) {
		return false
	}
	for i, c := range text {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != want[i] {
			return false
		}
	}
	return true
}

// number reads a whole number of a base, up to 2^50.
func number(text []byte, base int64) (n int64, err error) {
	const most = 1 << 50
	for _, c := range text {
		d := base
		switch {
		case c >= '0' && c <= '9':
			d = int64(c - '0')
		case c >= 'a' && c <= 'f':
			d = int64(c-'a') + 10
		case c >= 'A' && c <= 'F':
			d = int64(c-'A') + 10
		}
		if d >= base {
			return 0, fmt.Errorf("%.40q is not a number", text)
		}
		if n = n*base + d; n > most {
			return 0, fmt.Errorf("%.40q is too large", text)
		}
	}
	if len(text) == 0 {
		return 0, errors.New("a number is missing")
	}
	return n, nil
}
