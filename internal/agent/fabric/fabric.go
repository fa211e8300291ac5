// Package fabric joins agents on many machines to a lab, over NATS.
//
// An agent dials out, proves by its NKey who it is and joins with labels and
// facts for as long as it renews its lease. The lab then opens streams to it, on
// which the machine protocol runs; names instants at which agents start
// together; takes in live samples, which may be lost, and records, which may not.
// When the lease ends, the agent stops what it does and puts back what it changed.
//
// Nothing is trusted because of the subject that it came on. Lab and agent agree
// on keys of a session, signed by the long-lived key of either, and every later
// message is sealed with them and numbered: what is forged, replayed or out of
// its session is dropped. So an external cluster of NATS servers carries the same
// traffic with no more trust than a network.
//
// Each agent has two trees of subjects, plimsoll.KEY.up.> and
// plimsoll.KEY.down.>; below each, one subject for a kind of message.
package fabric

import (
	"errors"
	"time"
)

// kind is a kind of message. It is a part of the subject and of what is sealed.
type kind byte

const (
	kindHello kind = iota // the handshake, signed and not sealed
	kindControl
	kindRecord
	kindSample
	kindStream
	kinds // how many there are
)

// String is the kind's token in subjects.
func (k kind) String() string {
	return [...]string{"hello", "control", "record", "sample", "stream"}[k]
}

const (
	// MaxPayload is the largest message in bytes; NATS servers allow as much unless
	// they are told otherwise.
	MaxPayload = 1 << 20
	// MaxRecord is the largest record and sample in bytes.
	MaxRecord = MaxPayload - 1024
	// maxControl is the largest message of the handshake and of control.
	maxControl = 64 << 10
)

const (
	// Lease is how long an agent stays joined without renewing, unless the lab says
	// otherwise: twice what a switch or a server takes to come back.
	Lease = time.Minute
	// renewal is the longest time between two renewals. Of a short lease it is a third.
	renewal = 5 * time.Second
)

func renewalOf(lease time.Duration) time.Duration { return min(lease/3, renewal) }

// ErrRefused says that the lab does not know the agent's key.
var ErrRefused = errors.New("the lab refused this agent's key: add its public key to the lab's list of agents")

// errLease says that a lease ended without being renewed.
var errLease = errors.New("the lease ended: nothing was heard for its length")

func up(agent string, k kind) string   { return "plimsoll." + agent + ".up." + k.String() }
func down(agent string, k kind) string { return "plimsoll." + agent + ".down." + k.String() }

// UpSubjects is the tree of subjects that an agent may publish to.
func UpSubjects(agent string) string { return "plimsoll." + agent + ".up.>" }

// DownSubjects is the tree of subjects that an agent may subscribe to.
func DownSubjects(agent string) string { return "plimsoll." + agent + ".down.>" }

// LabSubjects is the tree of subjects of all agents, which a lab uses.
const LabSubjects = "plimsoll.>"

// bus carries messages between lab and agents; it may lose, repeat and hold up.
type bus interface {
	publish(subject string, data []byte) error
	// subscribe calls f for each message, one after the other. A "*" stands for
	// any token of the subject.
	subscribe(subject string, f func(subject string, data []byte)) error
	dead() <-chan struct{} // closed when the bus has given up for good
	close() error
}
