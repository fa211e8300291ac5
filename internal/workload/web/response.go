package web

import (
	"bytes"
	"errors"
	"fmt"
)

// response reads one answer of HTTP/1.1 (RFC 9112) after the other, in whatever
// pieces they come. Bodies are counted and not kept, and nothing is allocated.
type response struct {
	status  int
	body    int64 // bytes of it that have come
	left    int64 // of a body or a chunk of known length
	stage   stage
	closing bool // the server will close the connection
}

type stage uint8

const (
	head     stage = iota // status line and header fields
	known                 // a body of a length that was given
	chunk                 // the line before a chunk
	inChunk               // a chunk
	afterOne              // the line end after a chunk
	trailer               // fields after the last chunk
)

// mostHead is the longest head of an answer, and line of one, that is read.
const mostHead = 64 << 10

var (
	crlf      = []byte("\r\n")
	endOfHead = []byte("\r\n\r\n")
)

// read uses what it can of data and says how much that was, and whether an answer
// has ended. Without either more must come first.
func (r *response) read(data []byte) (used int, ended bool, err error) {
	switch r.stage {
	case head:
		return r.readHead(data)
	case known, inChunk:
		n := min(r.left, int64(len(data)))
		r.left -= n
		r.body += n
		if r.left == 0 && r.stage == known {
			return int(n), true, nil
		}
		if r.left == 0 {
			r.stage = afterOne
		}
		return int(n), false, nil
	}
	line, rest, whole := bytes.Cut(data, crlf)
	if !whole {
		if len(data) > mostHead {
			return 0, false, errors.New("a line of an answer that does not end")
		}
		return 0, false, nil
	}
	ended, err = r.readLine(line)
	return len(data) - len(rest), ended, err
}

// readLine reads a line of a body in chunks.
func (r *response) readLine(line []byte) (ended bool, err error) {
	switch r.stage {
	case afterOne:
		if len(line) > 0 {
			return false, errors.New("a chunk that is longer than it says")
		}
		r.stage = chunk
	case trailer:
		ended = len(line) == 0
	default:
		size, _, _ := bytes.Cut(line, []byte(";"))
		if r.left, err = number(bytes.TrimSpace(size), 16); err != nil {
			return false, fmt.Errorf("the size of a chunk: %w", err)
		}
		r.stage = inChunk
		if r.left == 0 {
			r.stage = trailer
		}
	}
	return ended, nil
}

func (r *response) readHead(data []byte) (used int, ended bool, err error) {
	end := bytes.Index(data, endOfHead)
	if end < 0 {
		if len(data) > mostHead {
			return 0, false, errors.New("the head of an answer that does not end")
		}
		return 0, false, r.begins(data)
	}
	if err := r.begins(data); err != nil {
		return 0, false, err
	}
	used = end + len(endOfHead)
	r.body = 0
	if bytes.Count(data[:end], crlf[1:]) != bytes.Count(data[:end], crlf) {
		return used, false, errors.New("a line of the head ends without a carriage return, which servers and readers take differently")
	}
	if r.status, err = statusOf(data[:end]); err != nil {
		return used, false, err
	}
	length, chunked, err := r.fields(data[:end])
	switch {
	case err != nil:
		return used, false, err
	case r.status < 200: // more is to come for the same request
		return used, false, nil
	case r.status == 204 || r.status == 304:
		return used, true, nil
	case chunked:
		r.stage = chunk
		return used, false, nil
	case length < 0:
		return used, false, errors.New("an answer whose end only the end of its connection tells")
	case length == 0:
		return used, true, nil
	}
	r.stage, r.left = known, length
	return used, false, nil
}

// begins refuses what is no answer as soon as that shows.
func (r *response) begins(data []byte) error {
	const start = "HTTP/1."
	n := min(len(start), len(data))
	if string(data[:n]) != start[:n] {
		return fmt.Errorf("%.20q is no answer of HTTP/1", data)
	}
	return nil
}

// statusOf reads the status of a line such as "HTTP/1.1 200 OK".
func statusOf(data []byte) (int, error) {
	line, _, _ := bytes.Cut(data, crlf)
	if len(line) < 12 || line[8] != ' ' || len(line) > 12 && line[12] != ' ' {
		return 0, fmt.Errorf("%.40q is no status line", line)
	}
	status := 0
	for _, c := range line[9:12] {
		if c < '0' || c > '9' {
			return 0, fmt.Errorf("%.40q is no status line", line)
		}
		status = 10*status + int(c-'0')
	}
	if status < 100 {
		return 0, fmt.Errorf("%.40q is no status line", line)
	}
	return status, nil
}

// fields reads the header fields that say where the body ends. The length is -1
// where none is given.
func (r *response) fields(data []byte) (length int64, chunked bool, err error) {
	length = -1
	r.closing = data[7] == '0'
	_, rest, _ := bytes.Cut(data, crlf)
	for len(rest) > 0 {
		var line []byte
		line, rest, _ = bytes.Cut(rest, crlf)
		name, value, found := bytes.Cut(line, []byte(":"))
		if !found || len(name) == 0 || name[len(name)-1] == ' ' || name[0] == ' ' {
			return 0, false, fmt.Errorf("%.40q is no header field", line)
		}
		value = bytes.TrimSpace(value)
		switch {
		case is(name, "content-length"):
			n, err := number(value, 10)
			if err != nil || length >= 0 && n != length {
				return 0, false, fmt.Errorf("content-length %.40q is not a length", value)
			}
			length = n
		case is(name, "transfer-encoding"):
			if !is(value, "chunked") {
				return 0, false, fmt.Errorf("transfer-encoding %.40q is not known", value)
			}
			chunked = true
		case is(name, "connection"):
			r.closing = is(value, "close") || r.closing && !is(value, "keep-alive")
		}
	}
	switch {
	case chunked && length >= 0:
		return 0, false, errors.New("an answer with a content-length and in chunks")
	case chunked && data[7] == '0':
		return 0, false, errors.New("an answer of HTTP/1.0 in chunks")
	}
	return length, chunked, nil
}

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
	if len(text) == 0 {
		return 0, errors.New("a number is missing")
	}
	for _, c := range text {
		d := int64(99)
		switch {
		case c >= '0' && c <= '9':
			d = int64(c - '0')
		case c >= 'a' && c <= 'f':
			d = int64(c-'a') + 10
		case c >= 'A' && c <= 'F':
			d = int64(c-'A') + 10
		}
		if d >= base || n > 1<<50 {
			return 0, fmt.Errorf("%.40q is not a number", text)
		}
		n = n*base + d
	}
	return n, nil
}
