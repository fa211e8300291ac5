package fabric

import (
	"encoding/binary"
	"errors"
)

// operation says what a frame of a stream is.
type operation byte

const (
	opOpen  operation = iota + 1 // the lab begins a stream
	opData                       // bytes from offset on; none asks where the reader is
	opAck                        // offset is how far all was received, data how far it was read
	opEnd                        // the writer ends at offset
	opReset                      // the stream is broken; data says why
)

const (
	frameHead = 1 + 4 + 8 // operation, stream, offset
	// Window is how many bytes a stream sends ahead of the reader on the other side.
	Window = 256 << 10
	// segment is how many bytes of a stream one message carries.
	segment = 32 << 10
)

// frame is one message of a stream.
type frame struct {
	op     operation
	stream uint32
	offset uint64
	data   []byte
}

func (f frame) encode() []byte {
	b := make([]byte, frameHead, frameHead+len(f.data))
	b[0] = byte(f.op)
	binary.BigEndian.PutUint32(b[1:], f.stream)
	binary.BigEndian.PutUint64(b[5:], f.offset)
	return append(b, f.data...)
}

var errFrame = errors.New("not a frame of a stream")

func decodeFrame(b []byte) (frame, error) {
	if len(b) < frameHead || len(b) > frameHead+segment {
		return frame{}, errFrame
	}
	f := frame{operation(b[0]), binary.BigEndian.Uint32(b[1:]), binary.BigEndian.Uint64(b[5:]), b[frameHead:]}
	switch f.op {
	case opOpen, opEnd:
		if len(f.data) != 0 {
			return frame{}, errFrame
		}
	case opAck:
		if len(f.data) != 8 || f.read() > f.offset {
			return frame{}, errFrame
		}
	case opData, opReset:
	default:
		return frame{}, errFrame
	}
	if f.op == opData && f.offset+uint64(len(f.data)) < f.offset {
		return frame{}, errFrame
	}
	return f, nil
}

// read is how far the reader is, in an acknowledgement.
func (f frame) read() uint64 { return binary.BigEndian.Uint64(f.data) }

func ackOf(stream uint32, received, read uint64) frame {
	return frame{opAck, stream, received, binary.BigEndian.AppendUint64(nil, read)}
}
