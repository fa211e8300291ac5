package router

import (
	"encoding/binary"
	"fmt"
)

// Sizes in bytes.
const (
	header        = 10    // struct virtio_net_hdr before each packet, which passes the state of its checksum on
	longestPacket = 65520 // that leaves room for the header in 64 KiB
	frameSize     = header + longestPacket
	shortestIPv4  = 20
)

// address is an IPv4 address.
type address [4]byte

// destination parses the destination of an IPv4 packet. The error names what is wrong.
//
// Source: RFC 791, section 3.1.
func destination(packet []byte) (to address, err error) {
	if len(packet) < shortestIPv4 {
		return to, fmt.Errorf("%d bytes", len(packet))
	}
	if version := packet[0] >> 4; version != 4 {
		return to, fmt.Errorf("version %d", version)
	}
	if n := int(packet[0]&15) * 4; n < shortestIPv4 || n > len(packet) {
		return to, fmt.Errorf("a header of %d bytes", n)
	}
	if n := int(binary.BigEndian.Uint16(packet[2:])); n != len(packet) {
		return to, fmt.Errorf("%d of %d bytes", len(packet), n)
	}
	return address(packet[16:20]), nil
}

// table is the port of each address.
type table map[address]int

func newTable(ports []Port) table {
	t := table{}
	for i, p := range ports {
		t[p.Address.As4()] = i
	}
	return t
}
