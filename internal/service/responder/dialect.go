package responder

import "errors"

// dialect is the server's side of a protocol on one connection.
type dialect interface {
	// next parses the first request of data and keeps it. It returns the length of the
	// request, or 0 if it is incomplete. After an error the client gets a failure and the
	// connection is closed.
	next(data []byte) (used int, err error)
	// answer executes the request and appends the response to out. data is still valid.
	answer(out []byte) []byte
	// failure appends an error response with a reason.
	failure(out []byte, why string) []byte
	// last reports that the connection closes after this response.
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

// onPurpose is the reason of an injected failure.
const onPurpose = "failed on purpose"

// digits parses a number without a sign; ok is false otherwise.
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
