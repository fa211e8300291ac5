package cql

import (
	"encoding/binary"
	"errors"
)

var errCut = errors.New("the server sends a truncated message")

// values parses the fields of a body in order. After a truncated field, all others are empty.
type values struct {
	rest []byte
	bad  bool
}

func (v *values) take(n int) []byte {
	if v.bad || n < 0 || n > len(v.rest) {
		v.bad = true
		return nil
	}
	part := v.rest[:n:n]
	v.rest = v.rest[n:]
	return part
}

func (v *values) short() int {
	if b := v.take(2); b != nil {
		return int(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (v *values) int() int {
	if b := v.take(4); b != nil {
		return int(int32(binary.BigEndian.Uint32(b)))
	}
	return 0
}

func (v *values) string() string { return string(v.take(v.short())) }

// bytes is nil for null.
func (v *values) bytes() []byte {
	n := v.int()
	if n < 0 {
		return nil
	}
	return v.take(n)
}

func (v *values) shortBytes() []byte { return v.take(v.short()) }

// appendShort appends a [string] or [short bytes] of the protocol.
func appendShort[T string | []byte](b []byte, v T) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(v))), v...)
}
