// Package fabric joins agents on many machines to a lab, over NATS.
//
// An agent dials out, authenticates by its NKey and joins with labels and facts for as long as
// it renews its lease. The lab then opens streams to it, which carry the protocol of package
// remote. When the lease ends, the agent stops its commands and restores settings.
//
// The layers from the top, each in a file of its own: control messages and streams; TLS 1.3
// between lab and agent on each stream, with certificates of their NKeys, which either side
// pins; flows, reliable byte streams over messages that a broker may lose, repeat or delay;
// NATS. A cluster of NATS servers is trusted no more than a network: forged, replayed or
// changed messages end a stream at worst.
//
// Each agent has a subject for either direction, plimsoll.KEY.up and
// plimsoll.KEY.down.
package fabric

import (
	"errors"
	"time"
)

const (
	// MaxPayload is the largest message in bytes; it is the default limit of NATS servers.
	MaxPayload = 1 << 20
	// maxControl is the largest control message in bytes.
	maxControl = 64 << 10
)

const (
	// Lease is the default lease: twice the time that a switch or a server takes to restart.
	Lease = time.Minute
	// renewal is the maximum time between renewals; for a short lease, a third of it.
	renewal = 5 * time.Second
)

func renewalOf(lease time.Duration) time.Duration { return min(lease/3, renewal) }

// ErrRefused is the error of an agent whose key is not on the lab's list.
var ErrRefused = errors.New("the lab refused this agent's key: add its public key to the lab's list of agents")

// errLease is returned when a lease was not renewed.
var errLease = errors.New("the lease expired without a message")

// errClock is a step back of an agent's clock, by which its lease ends.
var errClock = errors.New("the lease ended: the clock of this machine went backwards")

// UpSubject is the subject that an agent publishes to.
func UpSubject(agent string) string { return "plimsoll." + agent + ".up" }

// DownSubject is the subject that an agent subscribes to.
func DownSubject(agent string) string { return "plimsoll." + agent + ".down" }

// LabSubjects is the tree of subjects of all agents, which a lab uses.
const LabSubjects = "plimsoll.>"

// bus carries messages between lab and agents; it may lose, repeat and delay them.
type bus interface {
	publish(subject string, data []byte) error
	// subscribe calls f for each message, one after the other. A "*" stands for
	// any token of the subject.
	subscribe(subject string, f func(subject string, data []byte)) error
	dead() <-chan struct{} // closed when the bus gives up reconnecting
	close() error
}
