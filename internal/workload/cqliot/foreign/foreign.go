// Package foreign is what the workload cql-iot asks of a client that is not plimsoll's own.
// The implementation is handed in where the program has it, so that agents stay lean.
package foreign

import (
	"context"
	"crypto/tls"
	"time"
)

// Target is where the nodes listen, and how they are spoken to.
type Target struct {
	Addresses      []string // host:port, with the same port
	User, Password string
	TLS            *tls.Config // nil: none
	Protocol       int
	Connections    int // to each node
	Timeout        time.Duration
	Insert, Select string
	Write, Read    string // consistencies, by the names of CQL
}

// Reading is a row to be written.
type Reading struct {
	Machine, Station [16]byte
	Sensor           string
	Time             int64 // milliseconds
	Value            float64
	Data             []byte
}

// Session is connected. It may be used by many goroutines.
type Session interface {
	// Insert writes a reading.
	Insert(ctx context.Context, r Reading) error
	// Select reads the last readings of a sensor, and returns the number of rows and the
	// bytes of data.
	Select(ctx context.Context, machine [16]byte, sensor string) (rows int, bytes int64, err error)
	Close()
}

// Opener connects to the nodes.
type Opener func(Target) (Session, error)
