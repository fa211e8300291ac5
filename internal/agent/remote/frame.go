package remote

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// kind is the type of a frame.
type kind byte

const (
	kindHello  kind = iota + 1 // JSON: who speaks; the first frame of each side
	kindCall                   // JSON, from the lab: begin a call
	kindData                   // bytes of a call's stream
	kindEnd                    // end of the call's stream; from the far side of tunnels only
	kindStderr                 // the tail of a command's standard error, before its result
	kindCredit                 // flow control: number of bytes that may be sent in addition
	kindStop                   // from the lab: interrupt the command; of a tunnel: the lab reads no more
	kindCancel                 // from the lab: end the call by force
	kindResult                 // JSON, from the far side: the last frame of a call
	kindBeat                   // keepalive
	kindOver                   // from the lab: shut down
	kindOpen                   // JSON, from the far side of a tunnel: it is connected
	kinds
)

const (
	headerSize = 12
	// mostPayload bounds a frame, in bytes.
	mostPayload = 128 << 10
	// chunk is the size of a stream's frames, in bytes: streams share the connection fairly.
	chunk = 32 << 10
	// mostHello bounds the first frame, in bytes.
	mostHello = 4 << 10
)

// frame is the unit of the protocol: "PL", kind, a zero byte, call and length of
// the payload (both 32 bits, big end first), payload.
type frame struct {
	kind    kind
	call    uint32 // 0 where the frame concerns no call
	payload []byte
}

// frameError is a protocol error. It ends the connection.
type frameError struct{ What string }

// Error is the fault of the frame.
func (e *frameError) Error() string { return "frame that breaks the protocol: " + e.What }

func malformed(format string, args ...any) error {
	return &frameError{fmt.Sprintf(format, args...)}
}

// appendFrame encodes a frame.
func appendFrame(b []byte, f frame) []byte {
	b = append(b, 'P', 'L', byte(f.kind), 0)
	b = binary.BigEndian.AppendUint32(b, f.call)
	b = binary.BigEndian.AppendUint32(b, uint32(len(f.payload)))
	return append(b, f.payload...)
}

// header decodes the first bytes of a frame.
func header(b []byte) (f frame, length uint32, err error) {
	f = frame{kind: kind(b[2]), call: binary.BigEndian.Uint32(b[4:])}
	length = binary.BigEndian.Uint32(b[8:])
	if b[0] != 'P' || b[1] != 'L' || b[3] != 0 {
		return f, 0, malformed("it begins with %q", b[:4])
	}
	if f.kind == 0 || f.kind >= kinds {
		return f, 0, malformed("kind %d is not known", f.kind)
	}
	least, most := uint32(0), uint32(0)
	switch f.kind {
	case kindHello:
		most = mostHello
	case kindCredit:
		least, most = 4, 4
	case kindData:
		least, most = 1, mostPayload
	case kindCall, kindStderr, kindResult, kindOpen:
		most = mostPayload
	}
	if length < least || length > most {
		return f, 0, malformed("kind %d of %d bytes, allowed are %d to %d", f.kind, length, least, most)
	}
	if ofCall := f.kind != kindHello && f.kind != kindBeat && f.kind != kindOver; ofCall != (f.call != 0) {
		return f, 0, malformed("kind %d for call %d", f.kind, f.call)
	}
	return f, length, nil
}

// readFrame reads the next frame. At the end of the connection between two frames
// the error is io.EOF.
func readFrame(r *bufio.Reader) (frame, error) {
	var b [headerSize]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return frame{}, err
	}
	f, length, err := header(b[:])
	if err != nil || length == 0 {
		return f, err
	}
	f.payload = make([]byte, length)
	if _, err := io.ReadFull(r, f.payload); err != nil {
		return f, fmt.Errorf("in the middle of a frame: %w", noEOF(err))
	}
	return f, nil
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// mostSkipped bounds the bytes before the first frame.
const mostSkipped = 16 << 20

// seekHello skips to the next hello. An earlier connection over the same port may have left
// the rest of a frame, and a login shell may have printed a greeting.
func seekHello(r *bufio.Reader) (frame, error) {
	for range mostSkipped {
		b, err := r.Peek(headerSize)
		if err != nil {
			return frame{}, err
		}
		if f, _, err := header(b); err == nil && f.kind == kindHello {
			return readFrame(r)
		}
		if _, err := r.Discard(1); err != nil {
			return frame{}, err
		}
	}
	return frame{}, malformed("no hello within %d bytes", mostSkipped)
}
