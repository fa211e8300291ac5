// Package cql speaks the native protocol of Apache Cassandra, versions 4 and 5, as a
// client: frames read from and appended to buffers of the caller, without an
// allocation for each, for those who make load; and a plain connection for everything
// else.
//
// In version 5 what follows the handshake travels in outer frames with checksums, of
// which one may hold several messages, or a part of one.
package cql

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Version is of the protocol.
type Version byte

// The versions that this package speaks.
const (
	V4 Version = 4
	V5 Version = 5
)

// Opcode is the kind of a message.
type Opcode byte

// The kinds of message.
const (
	opError        Opcode = 0x00
	opStartup      Opcode = 0x01
	opReady        Opcode = 0x02
	opAuthenticate Opcode = 0x03
	opOptions      Opcode = 0x05
	opSupported    Opcode = 0x06
	opQuery        Opcode = 0x07
	opResult       Opcode = 0x08
	opPrepare      Opcode = 0x09
	opExecute      Opcode = 0x0a
	opRegister     Opcode = 0x0b
	opEvent        Opcode = 0x0c
	opAuthAnswer   Opcode = 0x0f
	opAuthSuccess  Opcode = 0x10
)

// Message is what a server sends. Its body lies in the data that it was read from, or
// in the reader, and is valid until the next.
type Message struct {
	Opcode Opcode
	Stream int // the number that the request had; below 0 for what nobody asked for
	Body   []byte
}

const (
	headLength = 9       // of a message
	longest    = 1 << 28 // more than any server sends in one message
	response   = 0x80    // in the version of what a server sends

	flagTracing = 0x02
	flagPayload = 0x04
	flagWarning = 0x08
)

// Reader takes messages apart that come on one connection.
type Reader struct {
	version Version
	framed  bool // in outer frames
	left    int  // bytes of messages in the outer frame that is being read, without its end
	joined  []byte
	whole   bool // joined holds a message that was returned
}

// newReader reads messages of a version.
func newReader(v Version) *Reader { return &Reader{version: v} }

// Frame says that from here on messages come in outer frames, as they do in version 5
// after the handshake.
func (r *Reader) Frame() { r.framed = true }

var errForeign = errors.New("the peer does not speak the protocol of Cassandra")

// Next reads the message at the beginning of data, and how many bytes it used. Where
// used is 0, more must come first; where it is not and the message has no body at all
// (Body is nil), a part of a message was taken. An error means that no Cassandra of
// this version sent it.
func (r *Reader) Next(data []byte) (m Message, used int, err error) {
	if !r.framed {
		m, used, err = r.message(data)
		return m, used, err
	}
	if r.whole {
		r.joined, r.whole = r.joined[:0], false
	}
	if r.left > 0 { // the checksum of all of it was verified
		m, used, err = r.message(data[:r.left])
		if err == nil && used == 0 {
			err = fmt.Errorf("%w: a message crosses the end of its frame", errForeign)
		}
		if r.left -= used; r.left == 0 {
			used += trailer
		}
		return m, used, err
	}
	payload, alone, err := openFrame(data)
	if err != nil || payload == nil {
		return m, 0, err
	}
	whole := frameHead + len(payload) + trailer
	if !alone {
		m, err = r.join(payload)
		return m, whole, err
	}
	if len(payload) == 0 {
		return m, whole, nil
	}
	m, used, err = r.message(payload)
	if err == nil && used == 0 {
		err = fmt.Errorf("%w: a message crosses the end of its frame", errForeign)
	}
	if err != nil {
		return m, 0, err
	}
	if r.left = len(payload) - used; r.left == 0 {
		used += trailer
	}
	return m, frameHead + used, nil
}

// join adds a part of a message that takes several frames, and is the message once it
// is whole.
func (r *Reader) join(part []byte) (m Message, err error) {
	if r.joined = append(r.joined, part...); len(r.joined) > longest {
		return m, fmt.Errorf("%w: unterminated message", errForeign)
	}
	m, used, err := r.message(r.joined)
	if err != nil || used == 0 {
		return Message{}, err
	}
	if used != len(r.joined) {
		return Message{}, fmt.Errorf("%w: trailing data after a message", errForeign)
	}
	r.whole = true
	return m, nil
}

// message reads a message without a frame around it.
func (r *Reader) message(data []byte) (m Message, used int, err error) {
	if len(data) == 0 {
		return m, 0, nil
	}
	if Version(data[0]&^response) != r.version || data[0]&response == 0 {
		return m, 0, r.foreign(data)
	}
	if len(data) < headLength {
		return m, 0, nil
	}
	length := binary.BigEndian.Uint32(data[5:])
	if length > longest {
		return m, 0, fmt.Errorf("%w: a message of %d bytes", errForeign, length)
	}
	used = headLength + int(length)
	if len(data) < used {
		return m, 0, nil
	}
	m = Message{Opcode: Opcode(data[4]), Stream: int(int16(binary.BigEndian.Uint16(data[2:]))), Body: data[headLength:used:used]}
	m.Body, err = strip(data[1], m.Body)
	return m, used, err
}

// foreign says what is wrong with a message that begins otherwise. A Cassandra that
// does not know the version answers in one that it knows.
func (r *Reader) foreign(data []byte) error {
	if v := data[0] &^ response; data[0]&response != 0 && v >= 3 && v <= 6 && !r.framed {
		return fmt.Errorf("the server speaks version %d of the protocol and not %d: set protocol", v, r.version)
	}
	return fmt.Errorf("%w: it sends %q", errForeign, data[:min(len(data), 60)])
}

// strip takes off what flags say comes before the body proper.
func strip(flags byte, body []byte) ([]byte, error) {
	if flags&(flagTracing|flagWarning|flagPayload) == 0 {
		return body, nil
	}
	v := values{rest: body}
	if flags&flagTracing != 0 {
		v.take(16)
	}
	if flags&flagWarning != 0 {
		for n := v.short(); n > 0 && !v.bad; n-- {
			v.take(v.short())
		}
	}
	if flags&flagPayload != 0 {
		for n := v.short(); n > 0 && !v.bad; n-- {
			v.take(v.short())
			v.bytes()
		}
	}
	if v.bad {
		return body, errCut
	}
	return v.rest, nil
}
