// Package mysql speaks the wire protocol of MariaDB and MySQL (version 10) as a client:
// packets read from and appended to buffers of the caller, without an allocation for
// each, for those who make load; and a plain connection for everything else.
//
// The protocol is that of mariadb.com/kb, "Clientserver protocol". Servers older than
// MariaDB 10.2 and MySQL 5.7.5 are refused: they end results in another way.
package mysql

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Packet is what travels, both ways. Its body lies in the data that it was read from.
type Packet struct {
	Number byte // within one command and its answer, from 0
	Body   []byte
}

const (
	headLength = 4
	// longest is more than one packet holds. What is longer travels as several, and
	// is refused here.
	longest = 1<<24 - 1
)

// next reads the packet at the beginning of data, and how long it is: 0 where its end is
// still to come. An error means that it is longer than any that was asked for.
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

// begin appends the head of a packet, whose length end fills in.
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

// appendQuery appends a query as text, which may hold several statements.
func appendQuery(b []byte, sql string) []byte { return command(b, comQuery, sql) }

// appendQuit appends the end of a session.
func appendQuit(b []byte) []byte { return command(b, comQuit, "") }

// The first byte of an answer.
const (
	headOK      = 0x00
	headFile    = 0xfb // the server wants a file
	headEnd     = 0xfe // of rows
	headFailure = 0xff
)

// ending reports whether a packet ends the rows of a result. A row that begins with the
// same byte would be longer than any packet.
func ending(body []byte) bool { return len(body) > 0 && body[0] == headEnd }

// number reads an integer of variable length, and how many bytes it takes: 0 where there
// is none.
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

// text reads a string of variable length and what follows it.
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

// Status is what a server says about its session when a command has ended.
type Status uint16

const (
	statusInTransaction Status = 1
	statusMoreResults   Status = 8
)

// InTransaction says that one is open.
func (s Status) InTransaction() bool { return s&statusInTransaction != 0 }

// readOK reads the status from what ends a command.
func readOK(body []byte) (Status, error) {
	at := 1
	for range 2 { // rows that were changed, and the last number that was given out
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
