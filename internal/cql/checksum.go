package cql

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
)

// An outer frame of version 5 without compression: three bytes with the payload length in 17
// bits and a flag for self-contained payloads, three bytes of CRC-24 over them, the payload,
// four bytes of CRC-32 over that; all little-endian.
const (
	frameHead   = 6
	trailer     = 4
	mostPayload = 1<<17 - 1
	selfContain = 1 << 17
)

// crc24 is the CRC of a 3-byte header, with the polynomial and initial value of the native
// protocol specification v5, section 2.3.1.
func crc24(head uint32) uint32 {
	crc := uint32(0x875060)
	for range 3 {
		crc ^= head & 0xff << 16
		head >>= 8
		for range 8 {
			if crc <<= 1; crc&0x1000000 != 0 {
				crc ^= 0x1974f0b
			}
		}
	}
	return crc
}

// crcBegin is the CRC-32 of the bytes fa 2d 55 ca, the initial value for payloads.
const crcBegin = 0x44777ed3

func crcPayload(payload []byte) uint32 { return crc32.Update(crcBegin, crc32.IEEETable, payload) }

// openFrame returns the payload of the frame at the beginning of data, nil if it is
// incomplete, and whether it is self-contained.
func openFrame(data []byte) (payload []byte, alone bool, err error) {
	if len(data) < frameHead {
		return nil, false, nil
	}
	head := uint32(data[0]) | uint32(data[1])<<8 | uint32(data[2])<<16
	if got := uint32(data[3]) | uint32(data[4])<<8 | uint32(data[5])<<16; got != crc24(head) {
		return nil, false, fmt.Errorf("%w: frame header checksum mismatch", errForeign)
	}
	length := int(head & mostPayload)
	if len(data) < frameHead+length+trailer {
		return nil, false, nil
	}
	payload = data[frameHead : frameHead+length : frameHead+length]
	if binary.LittleEndian.Uint32(data[frameHead+length:]) != crcPayload(payload) {
		return nil, false, fmt.Errorf("%w: frame checksum mismatch", errForeign)
	}
	return payload, head&selfContain != 0, nil
}

// closeFrame completes the header of a frame whose payload begins at frameHead behind at, and
// appends the checksum. A payload that is too long is split into several frames.
func closeFrame(b []byte, at int) []byte {
	payload := b[at+frameHead:]
	if len(payload) <= mostPayload {
		putHead(b[at:], len(payload), true)
		return binary.LittleEndian.AppendUint32(b, crcPayload(payload))
	}
	all := bytes.Clone(payload)
	b = b[:at]
	for part := range slices.Chunk(all, mostPayload) {
		b = append(b, make([]byte, frameHead)...)
		putHead(b[len(b)-frameHead:], len(part), false)
		b = binary.LittleEndian.AppendUint32(append(b, part...), crcPayload(part))
	}
	return b
}

func putHead(b []byte, length int, alone bool) {
	head := uint32(length)
	if alone {
		head |= selfContain
	}
	crc := crc24(head)
	b[0], b[1], b[2] = byte(head), byte(head>>8), byte(head>>16)
	b[3], b[4], b[5] = byte(crc), byte(crc>>8), byte(crc>>16)
}
