package web

import (
	"bytes"
	"errors"
	"fmt"
)

// response reads one answer of HTTP/1.1 (RFC 9112), in whatever pieces it comes.
// Bodies are counted and not kept, and nothing is allocated.
//
// It is strict where readers could differ about where an answer ends, because a
// client that guesses wrong counts the bytes of one operation for another.
type response struct {
	head
	stage    stage
	interims uint8 // answers of status 1xx before this one
	bodiless bool  // it answers HEAD
	looked   int   // bytes of an unfinished line that hold no end
	size     int   // of the lines of the head, or of the trailer, so far
	body     int64 // bytes of it that have come
	left     int64 // of a body or a chunk of known length
}

type stage uint8

const (
	inStatus stage = iota // the first line
	inFields              // the lines of the head after it
	ahead                 // the line before a chunk
	behind                // the line end after a chunk
	trailing              // fields after the last chunk
	inBody                // a body of a length that was given
	inChunk               // a chunk
)

const (
	// mostHead is the longest head of an answer that is read, and the longest line
	// and the longest trailer of a body in chunks.
	mostHead = 64 << 10
	// mostInterims is how many answers of status 1xx may come before the one that
	// counts.
	mostInterims = 16
)

var (
	errHead     = errors.New("the header of a response exceeds 64 KiB")
	errLine     = errors.New("a line of a response exceeds 64 KiB")
	errTrailer  = errors.New("the trailer of a response exceeds 64 KiB")
	errChunk    = errors.New("a chunk is longer than its size")
	errSwitch   = errors.New("the server switched protocols unexpectedly")
	errInterims = errors.New("too many 1xx responses")
	errEndless  = errors.New("the response ends only with its connection: the server must send Content-Length or chunked encoding")
)

// read uses what it can of data and says how much that was, and whether the answer
// has ended. Without either more must come first: data must then begin with the same
// bytes again.
func (r *response) read(data []byte) (used int, ended bool, err error) {
	for r.stage < inBody {
		end := bytes.IndexByte(data[used+r.looked:], '\n') + 1
		if end == 0 {
			return used, false, r.unfinished(data[used:])
		}
		end += used + r.looked
		r.looked = 0
		if r.size += end - used; r.size > mostHead {
			return used, false, r.tooLong()
		}
		line := data[used:end]
		used = end
		if ended, err = r.readLine(line); ended || err != nil {
			return used, ended, err
		}
	}
	n := min(r.left, int64(len(data)-used))
	r.left -= n
	r.body += n
	used += int(n)
	if r.left > 0 {
		return used, false, nil
	}
	if r.stage == inBody {
		return used, true, nil
	}
	r.begin(behind)
	return used, false, nil
}

// unfinished takes note of a line that has not ended yet.
func (r *response) unfinished(line []byte) error {
	r.looked = len(line)
	if r.size+len(line) > mostHead {
		return r.tooLong()
	}
	if r.stage == inStatus {
		return begins(line)
	}
	return nil
}

func (r *response) tooLong() error {
	switch r.stage {
	case inStatus, inFields:
		return errHead
	case trailing:
		return errTrailer
	}
	return errLine
}

func (r *response) begin(s stage) { r.stage, r.size = s, 0 }

// readLine reads a line, with its end.
func (r *response) readLine(line []byte) (ended bool, err error) {
	if r.stage == inStatus {
		if err := begins(line); err != nil {
			return false, err
		}
	}
	text, err := printable(line)
	if err != nil {
		return false, err
	}
	switch r.stage {
	case inStatus:
		r.stage = inFields
		r.head, err = parseStatus(text)
		return false, err
	case inFields:
		if len(text) == 0 {
			return r.headEnds()
		}
		return false, r.head.take(text)
	case ahead:
		size, _, _ := bytes.Cut(text, semicolon)
		if r.left, err = number(bytes.TrimRight(size, " \t"), 16); err != nil {
			return false, fmt.Errorf("the size of a chunk: %w", err)
		}
		if r.left == 0 {
			r.begin(trailing)
		} else {
			r.begin(inChunk)
		}
		return false, nil
	case behind:
		if len(text) > 0 {
			return false, errChunk
		}
		r.begin(ahead)
		return false, nil
	default:
		if len(text) == 0 {
			return true, nil
		}
		_, _, err = field(text)
		return false, err
	}
}

var semicolon = []byte(";")

// headEnds decides what follows a head.
func (r *response) headEnds() (ended bool, err error) {
	if err := r.head.whole(); err != nil {
		return false, err
	}
	switch {
	case r.status == 101:
		return false, errSwitch
	case r.status < 200: // more is to come for the same request
		if r.interims++; r.interims > mostInterims {
			return false, errInterims
		}
		r.begin(inStatus)
		return false, nil
	case r.bodiless || r.status == 204 || r.status == 304 || r.length == 0:
		return true, nil
	case r.chunked:
		r.begin(ahead)
		return false, nil
	case r.length < 0:
		return false, errEndless
	}
	r.begin(inBody)
	r.left = r.length
	return false, nil
}
