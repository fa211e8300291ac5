// Package peer is the protocol between a network workload and its reflector, and the sequence
// numbers of datagrams.
//
// The control connection has lines of JSON. The reflector greets; the client requests a Test
// and gets its address in Ready; Go resets the reflector's clock and counts; then the client
// may request Counts at any time, and the Report at the end. Closing the control connection
// ends the test.
package peer

import (
	"fmt"
	"time"
)

// Protocol is the one that a reflector serves, as services and workloads name it.
const Protocol = "reflect"

// Version is the version of the messages, which both sides must share.
const Version = 1

// Mode is the reflector's reaction to data.
type Mode string

// The modes of a test.
const (
	Echo Mode = "echo" // answers each request with a response
	Sink Mode = "sink" // receives and counts data
)

// Test is a client's test request.
type Test struct {
	Mode     Mode   `json:"mode"`
	Network  string `json:"network"` // tcp or udp
	Flows    int    `json:"flows"`   // connections, or numbered flows of datagrams
	Request  int    `json:"request,omitempty"`
	Response int    `json:"response,omitempty"`
	Fresh    bool   `json:"fresh,omitempty"`   // each request comes over a connection of its own
	Message  int    `json:"message,omitempty"` // size of a datagram of a stream; for a TCP stream, the unit of counting
	Stamp    uint32 `json:"stamp,omitempty"`   // that the datagrams of the stream carry
	// SendBuffer and ReceiveBuffer are the sizes of the reflector's socket buffers; 0 is
	// the system's default.
	SendBuffer    int  `json:"sendBuffer,omitempty"`
	ReceiveBuffer int  `json:"receiveBuffer,omitempty"`
	NoDelay       bool `json:"noDelay,omitempty"`
}

// Limits of a test.
const (
	MostFlows  = 65536
	MostBytes  = 64 << 20 // a request, response or message over TCP
	MostPacket = 65507    // maximum over UDP on IPv4
)

// Check refuses a test that cannot be run.
func (t Test) Check() error {
	most := MostBytes
	if t.Network == "udp" {
		most = MostPacket
	}
	switch {
	case t.Network != "tcp" && t.Network != "udp":
		return fmt.Errorf("unknown network %q: must be tcp or udp", t.Network)
	case t.Mode != Echo && t.Mode != Sink:
		return fmt.Errorf("unknown test mode %q: must be %s or %s", t.Mode, Echo, Sink)
	case t.Flows < 1 || t.Flows > MostFlows:
		return fmt.Errorf("%d flows: must be 1 to %d", t.Flows, MostFlows)
	case t.Fresh && (t.Network != "tcp" || t.Mode != Echo):
		return fmt.Errorf("a connection per request requires tcp")
	case t.Mode == Echo && (t.Request < 1 || t.Request > most || t.Response < 1 || t.Response > most):
		return fmt.Errorf("a request of %d and a response of %d bytes over %s: must be 1 to %d", t.Request, t.Response, t.Network, most)
	case t.Mode == Sink && (t.Message < 1 || t.Message > most):
		return fmt.Errorf("a message of %d bytes over %s: must be 1 to %d", t.Message, t.Network, most)
	case t.Mode == Sink && t.Network == "udp" && t.Message < HeaderSize:
		return fmt.Errorf("a message of %d bytes is too short for its sequence number of %d bytes", t.Message, HeaderSize)
	case t.SendBuffer < 0 || t.ReceiveBuffer < 0 || t.SendBuffer > 1<<30 || t.ReceiveBuffer > 1<<30:
		return fmt.Errorf("socket buffers of %d and %d bytes: at most 1 GiB", t.SendBuffer, t.ReceiveBuffer)
	}
	return nil
}

// Ready is the address of a test, with the actual settings of the reflector's sockets, read
// back from its kernel.
type Ready struct {
	Port          int  `json:"port"` // on the host of the control connection
	Threads       int  `json:"threads"`
	SendBuffer    int  `json:"sendBuffer"` // as the kernel counts, twice the requested size on Linux
	ReceiveBuffer int  `json:"receiveBuffer"`
	NoDelay       bool `json:"noDelay,omitempty"`
}

// Counts are the totals received by the reflector since Go. None decreases except Missing,
// when a late datagram arrives.
type Counts struct {
	Elapsed  time.Duration `json:"elapsed"`  // since Go, on the reflector's clock
	Messages int64         `json:"messages"` // requests, or messages of a stream; a repeated one counts once
	Bytes    int64         `json:"bytes"`    // of payload in them
	// Missing is how many numbers below the highest of each flow have not come.
	Missing    int64 `json:"missing,omitempty"`
	Duplicates int64 `json:"duplicates,omitempty"`
	Reordered  int64 `json:"reordered,omitempty"` // came after one with a higher number
	Overflows  int64 `json:"overflows,omitempty"` // datagrams that the kernel dropped at a full receive buffer
	Thrown     int64 `json:"thrown,omitempty"`    // dropped on purpose, by the reflector's options
	Strange    int64 `json:"strange,omitempty"`   // datagrams that belong to no flow of the test
	Unsent     int64 `json:"unsent,omitempty"`    // responses that the reflector's kernel rejected
	Accepted   int64 `json:"accepted,omitempty"`  // connections
}

// Report is the result of a test on the reflector's side.
type Report struct {
	Counts
	CPU time.Duration `json:"cpu"` // of the reflector's process
	// Machine is the usage of its machine meanwhile; nil if unknown.
	Machine *Machine `json:"machine,omitempty"`
}

// Machine is the usage of a whole machine during a test.
type Machine struct {
	Busy       time.Duration `json:"busy"`       // CPU time, all CPUs together
	Interrupts int64         `json:"interrupts"` // served
	SoftIRQs   int64         `json:"softirqs"`   // served
}

// Status is the reflector's options and totals.
type Status struct {
	Threads int     `json:"threads"` // number of threads for a test
	Drop    float64 `json:"drop"`    // share of the datagrams that it drops on purpose
	Clients int64   `json:"clients"` // control connections so far
	Tests   int64   `json:"tests"`   // begun
}
