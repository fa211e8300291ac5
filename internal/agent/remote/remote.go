// Package remote makes a machine at the other end of a byte stream a platform.Machine: over
// the virtio port of a guest, the standard input and output of a program that ssh started, or
// a stream through a message broker.
//
// Both sides exchange frames (see frame). Calls run concurrently, each with a stream of bytes
// in either direction and flow control. When the connection ends, for any reason, the far
// side ends all commands of the lab, frees its workers and restores settings. Both sides send
// keepalives, so that a dead peer is detected in seconds.
//
// There is no authentication here: the stream must come from somebody who may run commands on
// the machine, as with ssh and a guest's port.
package remote

import (
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"plimsoll/internal/platform"
)

// Protocol is the version of the protocol. Both sides must have the same.
const Protocol = 2

// errOver is why a connection ended whose lab needs the far side no more.
var errOver = errors.New("the lab closed the session")

// hello is the first frame of each side.
type hello struct {
	Protocol int    `json:"protocol"`
	Version  string `json:"version,omitempty"` // of the build
	Session  string `json:"session"`           // chosen by the lab, repeated by the far side
	// The other fields come from the far side only.
	Machine     string               `json:"machine,omitempty"`
	Abilities   abilities            `json:"abilities"`
	Confinement platform.Confinement `json:"confinement"`
}

// abilities are the optional methods of a machine.
type abilities struct {
	Carrier  bool `json:"carrier,omitempty"`
	Confiner bool `json:"confiner,omitempty"`
	Observer bool `json:"observer,omitempty"`
	Dialer   bool `json:"dialer,omitempty"`
	Claimer  bool `json:"claimer,omitempty"` // and puts settings back itself
}

// check compares the protocols of both sides.
func (h hello) check(own, other string) error {
	if h.Protocol == Protocol {
		return nil
	}
	return fmt.Errorf("the peer (build %s) has version %d of the protocol, this side (build %s) version %d: use the same build on both",
		orUnknown(other), h.Protocol, orUnknown(own), Protocol)
}

func orUnknown(version string) string {
	if version == "" {
		return "unknown"
	}
	return version
}

func newSession() string { return rand.Text() }

// The methods of a call.
const (
	methodRun        = "run"
	methodRead       = "read"
	methodWrite      = "write"
	methodSelf       = "self"
	methodConfine    = "confine"
	methodConfinable = "confinable"
	methodClock      = "clock"
	methodSpace      = "space"
	methodDial       = "dial"
	methodNow        = "now"
	methodClaim      = "claim"
	methodRelease    = "release"
)

// request begins a call. Names and arguments are bytes, not text.
type request struct {
	Method      string                `json:"method"`
	Argv        [][]byte              `json:"argv,omitempty"`
	Dir         []byte                `json:"dir,omitempty"`
	Stdin       bool                  `json:"stdin,omitempty"` // a stream follows
	Worker      bool                  `json:"worker,omitempty"`
	Joined      bool                  `json:"joined,omitempty"`
	Name        []byte                `json:"name,omitempty"`    // of a file, of the run that releases its claim, or an address
	Network     string                `json:"network,omitempty"` // of the address
	Confinement *platform.Confinement `json:"confinement,omitempty"`
}

// answer ends a call.
type answer struct {
	Fault       *fault          `json:"fault,omitempty"`
	Exit        int             `json:"exit,omitempty"`
	Signal      string          `json:"signal,omitempty"`
	OutOfMemory bool            `json:"outOfMemory,omitempty"`
	User        time.Duration   `json:"user,omitempty"`   // nanoseconds
	System      time.Duration   `json:"system,omitempty"` // nanoseconds
	Path        []byte          `json:"path,omitempty"`
	Clock       *platform.Clock `json:"clock,omitempty"`
	Space       *platform.Space `json:"space,omitempty"`
	Now         int64           `json:"now,omitempty"` // nanoseconds since 1970 on the far side's clock
}

const (
	// keptStderr limits the returned standard error of a command.
	keptStderr = 64 << 10
	// mostWritten bounds a file that the lab writes, in bytes: it is kept in memory until it
	// is complete.
	mostWritten = 64 << 20
)
