package fabric

import (
	"encoding/binary"
	"errors"
)

// operation is the type of a frame.
type operation byte

const (
	opOpen  operation = iota + 1 // begins a stream
	opData                       // bytes from an offset on; without bytes, a request for the reader's position
	opAck                        // offset is how far all was received, data how far it was read
	opEnd                        // the writer ends at offset
	opReset                      // the sender does not have the stream; for the control stream, the session
)

// sessionID names a session. The agent draws it at random.
type sessionID [8]byte

const (
	frameHead = len(sessionID{}) + 1 + 4 + 8 // session, operation, stream, offset
	// Window is the flow control window of a stream in bytes.
	Window = 256 << 10
	// segment is the largest payload of a frame in bytes.
	segment = 32 << 10
)

// frame is one message between lab and agent. Nothing in it is secret or trusted: the
// bytes of a stream are records of TLS.
type frame struct {
	session sessionID
	op      operation
	stream  uint32
	offset  uint64
	data    []byte
}

func (f frame) encode() []byte {
	b := make([]byte, 0, frameHead+len(f.data))
	b = append(b, f.session[:]...)
	b = append(b, byte(f.op))
	b = binary.BigEndian.AppendUint32(b, f.stream)
	b = binary.BigEndian.AppendUint64(b, f.offset)
	return append(b, f.data...)
}

var errFrame = errors.New("malformed frame")

func decodeFrame(b []byte) (frame, error) {
	if len(b) < frameHead || len(b) > frameHead+segment {
		return frame{}, errFrame
	}
	f := frame{session: sessionID(b), data: b[frameHead:]}
	b = b[len(f.session):]
	f.op, f.stream, f.offset = operation(b[0]), binary.BigEndian.Uint32(b[1:]), binary.BigEndian.Uint64(b[5:])
	switch f.op {
	case opOpen, opEnd, opReset:
		if len(f.data) != 0 {
			return frame{}, errFrame
		}
	case opAck:
		if len(f.data) != 8 || f.read() > f.offset {
			return frame{}, errFrame
		}
	case opData:
		if f.offset+uint64(len(f.data)) < f.offset {
			return frame{}, errFrame
		}
	default:
		return frame{}, errFrame
	}
	return f, nil
}

// read is how far the reader is, in an acknowledgement.
func (f frame) read() uint64 { return binary.BigEndian.Uint64(f.data) }

func ackOf(stream uint32, received, read uint64) frame {
	return frame{op: opAck, stream: stream, offset: received, data: binary.BigEndian.AppendUint64(nil, read)}
}
