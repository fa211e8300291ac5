// Package mysql is a client of the wire protocol of MariaDB and MySQL (version 10). For loads
// it parses and appends packets in the caller's buffers, without allocations; for everything
// else there is a synchronous session.
//
// The protocol is documented at mariadb.com/kb, "Clientserver protocol". Servers older than
// MariaDB 10.2 and MySQL 5.7.5, which end results differently, are rejected.
package mysql

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Packet is a protocol packet. Its body aliases the data that it was read from.
type Packet struct {
	Number byte // sequence number within a command, from 0
	Body   []byte
}

const (
	headLength = 4
	// longest is above the size of a packet. Longer payloads are split into several, which is
	// rejected here.
	longest = 1<<24 - 1
)

// next parses the packet at the beginning of data, and returns its length: 0 if it is
// incomplete. An error means that it is too long.
func next(data []byte) (p Packet, used int, err error) {
	if len(data) < headLength {
		return p, 0, nil
	}
	length := int(data[0]) | int(data[1])<<8 | int(data[2])<<16
	if length == longest {
		return p, 0, errors.New("packet of more than 16 MiB")
	}
	used = headLength + length
	if len(data) < used {
		return p, 0, nil
	}
	return Packet{Number: data[3], Body: data[headLength:used]}, used, nil
}

// begin appends the header of a packet, whose length end completes.
func begin(b []byte, number byte) (buffer []byte, at int) {
	return append(b, 0, 0, 0, number), len(b)
}

func end(b []byte, at int) []byte {
	n := len(b) - at - headLength
	b[at], b[at+1], b[at+2] = byte(n), byte(n>>8), byte(n>>16)
	return b
}

// The commands.
const (
	comQuit    = 0x01
	comQuery   = 0x03
	comPrepare = 0x16
	comExecute = 0x17
)

func command(b []byte, what byte, text string) []byte {
	b, at := begin(b, 0)
	return end(append(append(b, what), text...), at)
}

// appendQuery appends COM_QUERY, possibly with several statements.
func appendQuery(b []byte, sql string) []byte { return command(b, comQuery, sql) }

// appendQuit appends COM_QUIT.
func appendQuit(b []byte) []byte { return command(b, comQuit, "") }

// The first byte of a response.
const (
	headOK      = 0x00
	headFile    = 0xfb // LOCAL INFILE request
	headEnd     = 0xfe // of rows
	headFailure = 0xff
)

// ending reports whether a packet ends the rows of a result. A row with the same first byte
// would be longer than any packet.
func ending(body []byte) bool { return len(body) > 0 && body[0] == headEnd }

// number parses a length-encoded integer, and returns its length: 0 if incomplete.
func number(b []byte) (n uint64, used int) {
	if len(b) == 0 {
		return 0, 0
	}
	width := 0
	switch b[0] {
	case 0xfb, 0xff:
		return 0, 0
	case 0xfc:
		width = 2
	case 0xfd:
		width = 3
	case 0xfe:
		width = 8
	default:
		return uint64(b[0]), 1
	}
	if len(b) < 1+width {
		return 0, 0
	}
	for i := width; i > 0; i-- {
		n = n<<8 | uint64(b[i])
	}
	return n, 1 + width
}

// text parses a length-encoded string and returns the rest.
func text(b []byte) (s, rest []byte, ok bool) {
	n, used := number(b)
	if used == 0 || n > uint64(len(b)-used) {
		return nil, b, false
	}
	b = b[used:]
	return b[:n:n], b[n:], true
}

func appendNumber(b []byte, n int) []byte {
	switch {
	case n < 0xfb:
		return append(b, byte(n))
	case n < 1<<16:
		return append(b, 0xfc, byte(n), byte(n>>8))
	}
	return append(b, 0xfd, byte(n), byte(n>>8), byte(n>>16))
}

// Status is the server status flags at the end of a command.
type Status uint16

const (
	statusInTransaction Status = 1
	statusMoreResults   Status = 8
)

// InTransaction reports whether a transaction is open.
func (s Status) InTransaction() bool { return s&statusInTransaction != 0 }

// readOK parses the status of an OK packet.
func readOK(body []byte) (Status, error) {
	at := 1
	for range 2 { // affected rows and last insert ID
		_, used := number(body[min(at, len(body)):])
		if used == 0 {
			return 0, fmt.Errorf("malformed OK packet: %q", body[:min(len(body), 40)])
		}
		at += used
	}
	if len(body) < at+2 {
		return 0, fmt.Errorf("malformed OK packet: %q", body[:min(len(body), 40)])
	}
	return Status(binary.LittleEndian.Uint16(body[at:])), nil
}
