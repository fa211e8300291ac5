// Package cql is a client of Apache Cassandra's native protocol, versions 4 and 5. For loads
// it parses and appends frames in the caller's buffers, without allocations; for everything
// else there is a synchronous connection.
//
// In version 5, messages after the handshake are in outer frames with checksums; a frame has
// several messages, or a part of one.
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

// Message is a message from a server. Its body aliases the data that it was read from, or the
// reader's buffer, and is valid until the next.
type Message struct {
	Opcode Opcode
	Stream int // stream ID of the request; negative for events
	Body   []byte
}

const (
	headLength = 9       // of a message
	longest    = 1 << 28 // more than any server sends in one message
	response   = 0x80    // direction bit of the version

	flagTracing = 0x02
	flagPayload = 0x04
	flagWarning = 0x08
)

// Reader parses the messages of one connection.
type Reader struct {
	version Version
	framed  bool // in outer frames
	left    int  // bytes of messages left in the current outer frame, without its checksum
	joined  []byte
	whole   bool // joined holds a returned message
}

// newReader parses messages of a version.
func newReader(v Version) *Reader { return &Reader{version: v} }

// Frame enables outer frames, which version 5 uses after the handshake.
func (r *Reader) Frame() { r.framed = true }

var errForeign = errors.New("the peer does not speak the protocol of Cassandra")

// Next parses the message at the beginning of data, and returns how many bytes it used. If
// used is 0, data is incomplete; if it is not and Body is nil, a part of a message was
// consumed. An error means that the peer does not speak this version.
func (r *Reader) Next(data []byte) (m Message, used int, err error) {
	if !r.framed {
		m, used, err = r.message(data)
		return m, used, err
	}
	if r.whole {
		r.joined, r.whole = r.joined[:0], false
	}
	if r.left > 0 { // its checksum was verified
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

// join adds a part of a message that spans frames, and returns the message once it is
// complete.
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

// message parses a message without an outer frame.
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

// foreign explains a message of another version: a server that does not support the version
// answers in one that it does.
func (r *Reader) foreign(data []byte) error {
	if v := data[0] &^ response; data[0]&response != 0 && v >= 3 && v <= 6 && !r.framed {
		return fmt.Errorf("the server speaks version %d of the protocol and not %d: set protocol", v, r.version)
	}
	return fmt.Errorf("%w: it sends %q", errForeign, data[:min(len(data), 60)])
}

// strip removes the tracing ID, warnings and custom payload before the body.
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
