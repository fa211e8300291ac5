package enginetest

import (
	"encoding/binary"

	"plimsoll/internal/postgres"
)

// Message is one of PostgreSQL's protocol.
func Message(kind byte, body string) []byte {
	b := binary.BigEndian.AppendUint32([]byte{kind}, uint32(4+len(body)))
	return append(b, body...)
}

// Row is the message of PostgreSQL that brings a row of texts.
func Row(values ...string) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(len(values)))
	for _, v := range values {
		b = postgres.AppendText(b, v)
	}
	return Message(postgres.DataRow, string(b))
}

// Packet is one of MariaDB's protocol.
func Packet(number byte, body string) []byte {
	return append([]byte{byte(len(body)), byte(len(body) >> 8), byte(len(body) >> 16), number}, body...)
}
