// Package network reads the sockets and the queues of network devices of a Linux host by netlink.
//
// A table adds up what the kernel counts per connection into flows: the connections of one
// program with one peer. It reads as often as its cost allows.
package network

import (
	"encoding/binary"
	"net/netip"
)

// Kernel answers dump requests.
type Kernel interface {
	// Dump sends a request to a netlink protocol in the network namespace of a process, 0 for
	// this one's, and hands on the type and the body of each message of the answer.
	Dump(pid, protocol int, request []byte, use func(kind uint16, body []byte)) error
}

// Flow is the connections of one program with one peer. Counters are of connections that lasted
// from one reading to the next, or were seen at their last one.
type Flow struct {
	Space   int    `json:"space,omitempty"` // process in whose network namespace it is; 0 is the host's
	PID     int    `json:"pid,omitempty"`   // owner; 0 if unknown
	Program string `json:"program,omitempty"`
	Port    int    `json:"port,omitempty"` // that the program listens on; 0 where it opened the connections
	Peer    string `json:"peer,omitempty"` // address, with the port where the program opened the connections; empty for the many others

	SentBytes       float64 `json:"sentBytes"` // counters
	ReceivedBytes   float64 `json:"receivedBytes"`
	Segments        float64 `json:"segments"`   // with data sent, those sent again included
	SegmentsIn      float64 `json:"segmentsIn"` // with data received
	Retransmits     float64 `json:"retransmits"`
	Duplicates      float64 `json:"duplicates"`      // retransmits that the peer reported as needless
	Time            float64 `json:"time"`            // seconds of connections that carried data
	Busy            float64 `json:"busy"`            // of them with data sent and not acknowledged
	ReceiverLimited float64 `json:"receiverLimited"` // of them limited by the receiver's window
	BufferLimited   float64 `json:"bufferLimited"`   // of them limited by the send buffer
	RTTTime         float64 `json:"rttTime"`         // round-trip time times seconds of connections
	MinRTTTime      float64 `json:"minRTTTime"`      // the same of the shortest round trip
	FlightTime      float64 `json:"flightTime"`      // segments in flight times seconds of connections
	UnreadTime      float64 `json:"unreadTime"`      // share of the receive buffer that is full, times seconds

	Connections   float64 `json:"connections"`             // gauges
	SendBuffer    float64 `json:"sendBuffer,omitempty"`    // largest, in bytes
	ReceiveBuffer float64 `json:"receiveBuffer,omitempty"` // largest, in bytes
	SendWindow    float64 `json:"sendWindow,omitempty"`    // largest that the peer offers, in bytes
	SegmentSize   float64 `json:"segmentSize,omitempty"`   // in bytes
}

// Counters are the cumulative counters, in a fixed order.
func (f *Flow) Counters() []*float64 {
	return []*float64{
		&f.SentBytes, &f.ReceivedBytes, &f.Segments, &f.SegmentsIn, &f.Retransmits, &f.Duplicates, &f.Time, &f.Busy,
		&f.ReceiverLimited, &f.BufferLimited, &f.RTTTime, &f.MinRTTTime, &f.FlightTime, &f.UnreadTime,
	}
}

// RTT is the mean round-trip time in seconds of the connections that carried data.
func (f *Flow) RTT() float64 { return f.mean(f.RTTTime) }

// MinRTT is the mean of their shortest round-trip times in seconds.
func (f *Flow) MinRTT() float64 { return f.mean(f.MinRTTTime) }

// Flight is the mean number of segments in flight per connection.
func (f *Flow) Flight() float64 { return f.mean(f.FlightTime) }

// Unread is the share of the receive buffer that holds data the program has not read.
func (f *Flow) Unread() float64 { return f.mean(f.UnreadTime) }

func (f *Flow) mean(sum float64) float64 {
	if f.Time == 0 {
		return 0
	}
	return sum / f.Time
}

// Listener is a TCP or Unix socket that listens. Connections to a Unix socket that is full are not
// dropped: clients wait, or are refused if they may not block.
type Listener struct {
	Space   int    `json:"space,omitempty"`
	PID     int    `json:"pid,omitempty"`
	Program string `json:"program,omitempty"`
	Address string `json:"address"` // of a Unix socket its path, or @ and its abstract name
	Port    int    `json:"port"`    // 0 of a Unix socket

	Drops   float64 `json:"drops"`   // counter: connections refused or lost for lack of room
	Waiting float64 `json:"waiting"` // counter: seconds with connections that were not accepted
	Full    float64 `json:"full"`    // counter: seconds with a full queue

	Queue       float64 `json:"queue"`   // gauge: connections not accepted yet
	Backlog     float64 `json:"backlog"` // gauge: most of them
	Connections float64 `json:"connections"`
	Limit       float64 `json:"limit,omitempty"`   // connections that the server's own settings allow
	Setting     string  `json:"setting,omitempty"` // that limits them
	Config      string  `json:"config,omitempty"`  // file or command line with it
}

// Unix reports whether it is a Unix socket.
func (l *Listener) Unix() bool { return l.Port == 0 }

// Counters are the cumulative counters, in a fixed order.
func (l *Listener) Counters() []*float64 { return []*float64{&l.Drops, &l.Waiting, &l.Full} }

// Destination is a peer to which many ports of this host are in use.
type Destination struct {
	Peer  string  `json:"peer"` // address and port
	Ports float64 `json:"ports"`
}

// connection is one socket as the kernel reports it.
type connection struct {
	state         byte
	local, remote netip.AddrPort
	cookie        uint64
	inode         uint32
	queue, room   uint32 // not read and not acknowledged bytes, or the accept queue and its backlog
	info          tcpInfo
	memory        memory
}

// tcpInfo is struct tcp_info of include/uapi/linux/tcp.h, as far as it is used.
type tcpInfo struct {
	known                                         bool
	mss, unacked, rtt, minRTT                     uint32 // times in microseconds
	retransmits, segments, segmentsIn, duplicates uint32
	acked, received, busy, receiver, buffer, out  uint64 // times in microseconds
	window                                        uint32
}

// memory is of INET_DIAG_SKMEMINFO.
type memory struct{ unread, receiveBuffer, sendBuffer, drops uint32 }

// States of include/net/tcp_states.h.
const (
	established = 1
	synSent     = 2
	timeWait    = 6
	closeWait   = 8
	listening   = 10
)

const (
	inetDiag    = 4  // NETLINK_INET_DIAG
	diagRequest = 20 // SOCK_DIAG_BY_FAMILY
	tcpRequest  = 18 // TCPDIAG_GETSOCK
	statesAt    = 52 // in struct inet_diag_req
	inet        = 2
	attrInfo    = 2 // INET_DIAG_INFO
	attrMemory  = 7 // INET_DIAG_SKMEMINFO
	diagHeader  = 72
)

// request asks for the TCP sockets in some states, in the older form of such requests (struct
// inet_diag_req): it has those of both families in one walk over the kernel's table, which takes
// milliseconds on hosts with much memory, whatever it holds.
func request(states uint32, details bool) []byte {
	body := make([]byte, 60)
	if states != 1<<timeWait {
		body[3] = 1 << (attrMemory - 1)
	}
	if details {
		body[3] |= 1 << (attrInfo - 1)
	}
	binary.NativeEndian.PutUint32(body[statesAt:], states)
	return dumpRequest(tcpRequest, body)
}

// parseConnection parses struct inet_diag_msg and its attributes.
func parseConnection(body []byte) (c connection, ok bool) {
	if len(body) < diagHeader {
		return c, false
	}
	u32 := binary.NativeEndian.Uint32
	c.state = body[1]
	address := func(at int) netip.Addr {
		if body[0] == inet {
			return netip.AddrFrom4([4]byte(body[at : at+4]))
		}
		return netip.AddrFrom16([16]byte(body[at : at+16])).Unmap()
	}
	c.local = netip.AddrPortFrom(address(8), binary.BigEndian.Uint16(body[4:]))
	c.remote = netip.AddrPortFrom(address(24), binary.BigEndian.Uint16(body[6:]))
	c.cookie = uint64(u32(body[44:])) | uint64(u32(body[48:]))<<32
	c.queue, c.room, c.inode = u32(body[56:]), u32(body[60:]), u32(body[68:])
	attributes(body[diagHeader:], func(kind uint16, value []byte) {
		switch kind {
		case attrInfo:
			c.info = parseInfo(value)
		case attrMemory:
			if len(value) >= 16 {
				c.memory = memory{unread: u32(value), receiveBuffer: u32(value[4:]), sendBuffer: u32(value[12:])}
			}
			if len(value) >= 36 {
				c.memory.drops = u32(value[32:])
			}
		}
	})
	return c, true
}

// parseInfo parses a tcp_info, which is shorter on older kernels: what they lack is 0.
func parseInfo(b []byte) (i tcpInfo) {
	full := make([]byte, 232)
	copy(full, b)
	u32 := func(at int) uint32 { return binary.NativeEndian.Uint32(full[at:]) }
	u64 := func(at int) uint64 { return binary.NativeEndian.Uint64(full[at:]) }
	return tcpInfo{
		known: len(b) >= 192, mss: u32(16), unacked: u32(24), rtt: u32(68), minRTT: u32(148), retransmits: u32(100), segments: u32(156), segmentsIn: u32(152), duplicates: u32(216),
		acked: u64(120), received: u64(128), busy: u64(168), receiver: u64(176), buffer: u64(184), out: u64(200), window: u32(228),
	}
}
