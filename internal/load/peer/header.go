package peer

import "encoding/binary"

// HeaderSize is the size of a Header in bytes.
const HeaderSize = 16

// Header is the beginning of each datagram of a stream.
type Header struct {
	Stamp  uint32 // identifies the test
	Flow   uint32 // from 0
	Number uint64 // from 0 in each flow
}

// Put writes the header into a datagram.
func (h Header) Put(datagram []byte) {
	_ = datagram[HeaderSize-1]
	binary.BigEndian.PutUint32(datagram, h.Stamp)
	binary.BigEndian.PutUint32(datagram[4:], h.Flow)
	binary.BigEndian.PutUint64(datagram[8:], h.Number)
}

// ReadHeader parses the header of a datagram; ok is false for an invalid one.
func ReadHeader(datagram []byte) (h Header, ok bool) {
	if len(datagram) < HeaderSize {
		return h, false
	}
	return Header{
		binary.BigEndian.Uint32(datagram), binary.BigEndian.Uint32(datagram[4:]), binary.BigEndian.Uint64(datagram[8:]),
	}, true
}
