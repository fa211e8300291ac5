package libvirt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// The programs that share a connection.
const (
	programRemote    = 0x20008086
	programKeepalive = 0x6b656570
	programVersion   = 1
)

// What a message is.
const (
	kindCall   = 0
	kindReply  = 1
	kindEvent  = 2
	kindStream = 3
)

// What a reply or a part of a stream says.
const (
	statusDone  = 0
	statusError = 1
	statusMore  = 2
)

const (
	headerSize  = 28       // with the length, which counts itself
	longest     = 32 << 20 // message that is taken: the most that libvirt sends
	longestPart = 256 << 10
)

// header is what each message begins with.
type header struct {
	program, version uint32
	procedure        int32
	kind             uint32
	serial           uint32
	status           uint32
}

type message struct {
	header
	body []byte
}

func (m message) encode() []byte {
	e := encoder{make([]byte, 0, headerSize+len(m.body))}
	e.uint32(uint32(headerSize + len(m.body)))
	e.uint32(m.program)
	e.uint32(m.version)
	e.int32(m.procedure)
	e.uint32(m.kind)
	e.uint32(m.serial)
	e.uint32(m.status)
	return append(e.b, m.body...)
}

func readMessage(r io.Reader) (m message, err error) {
	var head [headerSize]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return m, err
	}
	length := binary.BigEndian.Uint32(head[:])
	if length < headerSize || length > longest {
		return m, fmt.Errorf("message of %d bytes: must be %d to %d", length, headerSize, longest)
	}
	d := decoder{b: head[4:]}
	m.header = header{d.uint32(), d.uint32(), d.int32(), d.uint32(), d.uint32(), d.uint32()}
	var body bytes.Buffer // grows with what arrives
	if _, err := io.CopyN(&body, r, int64(length-headerSize)); err != nil {
		return m, fmt.Errorf("truncated message: %w", err)
	}
	m.body = body.Bytes()
	return m, nil
}
