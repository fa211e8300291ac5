package responder

import "errors"

// dialect is the server's side of a protocol on one connection.
type dialect interface {
	// next reads the first request of data and remembers it. It says how many bytes
	// the request takes; 0 means that more must come first. After an error the
	// connection is told of it and closed.
	next(data []byte) (used int, err error)
	// answer does what was asked and appends the answer to out. What the request
	// pointed at in data is still there.
	answer(out []byte) []byte
	// failure appends an answer that says that the request failed, and why.
	failure(out []byte, why string) []byte
	// last tells that the connection closes after this answer.
	last() bool
}

const (
	longestRequest = 64 << 20 // bytes, with its value
	longestHead    = 64 << 10 // bytes of a line, or of the head of an HTTP request
)

var (
	errTooLong   = errors.New("the request is too long")
	errMalformed = errors.New("the request is malformed")
)

// onPurpose is why a request fails that could have been served.
const onPurpose = "failed on purpose"

// digits reads a number without a sign; ok is false for anything else.
func digits(text []byte) (n int, ok bool) {
	if len(text) == 0 || len(text) > 10 {
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}
