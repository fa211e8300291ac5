package load

import (
	"errors"
	"fmt"
)

// Dialogue is the client's side of a protocol on one connection. It never blocks, starts no
// goroutine and keeps no time: a loop does the I/O and takes the timestamps. A dialogue is
// used by one goroutine.
type Dialogue interface {
	// Request appends one request to buffer and returns it, with the index of the operation's
	// class. The slot identifies the operation until its response: 0 <= slot < window. Slots
	// are allocated round robin, skipping those in use, so that a protocol with ordered
	// responses need only count.
	Request(buffer []byte, slot int) (request []byte, class int)
	// Answer parses the beginning of data and returns the number of bytes used. It returns at
	// the first completed operation, or when data is incomplete: then used is 0. A large
	// response may be consumed in pieces, with Slot NoSlot before the last. An error means
	// that the peer does not speak the protocol: the connection is closed and its operations
	// in flight have failed.
	Answer(data []byte) (a Answer, used int, err error)
}

// ErrRefused is wrapped by the error of a Dialogue if the peer speaks the protocol but
// refuses to continue.
var ErrRefused = errors.New("the server refused to continue")

// Broken is the error of a connection whose Dialogue failed.
func Broken(address string, err error) error {
	if errors.Is(err, ErrRefused) {
		return fmt.Errorf("%s ended a connection: %w", address, err)
	}
	return fmt.Errorf("%s does not speak the protocol: %w", address, err)
}

// MultiRequest is a Dialogue whose operations take several requests, each depending on the response
// to the one before. Package routine does not support it with a connection per operation.
type MultiRequest interface {
	Dialogue
	// Next appends the next request after Answer. It is called after each piece of data, and
	// may append nothing.
	Next(buffer []byte) []byte
}

// NoSlot is the slot of an Answer that completes no operation.
const NoSlot = -1

// Answer is the completion of one operation.
type Answer struct {
	Slot   int   // the completed operation, or NoSlot
	Bytes  int64 // payload bytes of the operation, both directions
	Failed bool  // the peer returned an error
	Last   bool  // the peer will close the connection: no more requests
	Again  bool  // no think time before the next operation; only package socket supports it
}
