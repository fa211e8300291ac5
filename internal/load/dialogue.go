package load

import (
	"errors"
	"fmt"
)

// Dialogue is the client's side of a protocol on one connection. It never
// waits, starts no goroutine and keeps no time: a loop moves the bytes and
// stamps the operations. A dialogue is used by one goroutine.
type Dialogue interface {
	// Request appends one request to buffer and returns it, with the index of
	// the operation's class. The slot names the operation until it is
	// answered: 0 <= slot < window. A loop hands out slots in turn, 0, 1 ...
	// window-1, 0, skipping those still in use, so that a protocol that answers in
	// order need only count.
	Request(buffer []byte, slot int) (request []byte, class int)
	// Answer reads from the beginning of data and says how many bytes it used.
	// It ends at the first operation that is finished by them, or when it
	// cannot go on: used == 0 means that more must come first. A large answer
	// may be used piece by piece, with Slot NoSlot until its last. An error
	// means that the peer does not speak the protocol: the connection is
	// closed and what is outstanding on it has failed.
	Answer(data []byte) (a Answer, used int, err error)
}

// ErrRefused is wrapped by the error of a Dialogue if the peer speaks the protocol but
// refuses to continue.
var ErrRefused = errors.New("the server refused to continue")

// Broken is the error of a connection on which a Dialogue of the peer at an address failed.
func Broken(address string, err error) error {
	if errors.Is(err, ErrRefused) {
		return fmt.Errorf("%s ended a connection: %w", address, err)
	}
	return fmt.Errorf("%s does not speak the protocol: %w", address, err)
}

// Talker is a Dialogue whose operations may take several requests, each of which
// follows from the answers to the one before. A load with a connection for each
// operation does not ask it on goroutines (package routine).
type Talker interface {
	Dialogue
	// Next appends what is to be sent now that Answer has used what came. It is
	// asked after each piece of data, and appends nothing where there is nothing
	// to say.
	Next(buffer []byte) []byte
}

// NoSlot is the slot of an Answer that finishes no operation.
const NoSlot = -1

// Answer is the end of one operation.
type Answer struct {
	Slot   int   // the operation that it finishes, or NoSlot
	Bytes  int64 // of payload that the operation moved, both ways
	Failed bool  // the peer answered with an error
	Last   bool  // the peer will close the connection: no more requests on it
	Again  bool  // the user continues at once, without the pause of a closed loop; only package socket supports it
}
