package load

import (
	"context"
	"crypto/tls"
	"net"
	"time"
)

// Job is a load on connections to one address, or to several instances of a service. The zero value of a field has
// the meaning that it gives.
type Job struct {
	Stage   Stage
	Network string // tcp, udp or unix
	Address string
	// More are further addresses with the same load: Connections to each, and Arrivals.Rate
	// for each. Operations are distributed round robin; an address without a free slot is
	// skipped.
	More []string
	// Instead redirects a connection: it maps the index of an address (0 is Address, then
	// More) to that of a serving one. It is called concurrently, for each new connection; nil
	// does not redirect.
	Instead func(number int) int
	TLS     *tls.Config // nil: none
	// Upgrade starts TLS on a connection of a protocol with a plaintext start; nil starts TLS
	// at once.
	Upgrade func(ctx context.Context, conn net.Conn, config *tls.Config) (net.Conn, error)
	// Socket sets options of each new socket before it connects; nil sets none.
	Socket func(fd int) error

	// Arrivals are the due times of an open loop. The zero value is a closed loop: each slot
	// starts its next operation when its last has ended, after Think.
	Arrivals Arrivals
	Think    Think

	Connections int // number of connections, at least 1
	Window      int // maximum operations in flight per connection; 0 means 1
	Threads     int // measuring threads, each with its own connections and part of the schedule; 0 means 1
	// Fresh opens a new connection for each operation, which includes the connect.
	Fresh bool

	// Tick is the longest time by which a thread may oversleep a due time: operations are then
	// sent in batches, for less CPU. 0 sleeps until shortly before the due time and spins.
	Tick    time.Duration
	Timeout time.Duration // per operation, from its start; 0 means 10 s
	MaxLag  time.Duration // operations with a longer lag are abandoned; 0 abandons none

	Classes []string // names of the classes, by index; nil is one without a name
	// Dialogue returns the protocol of a new connection. The number is unique per connection
	// of a stage, reconnections included; use it with the stage's seed.
	Dialogue func(number int) Dialogue
	// Caller returns a client that performs whole operations, for client libraries. Only
	// package routine supports it.
	Caller func(ctx context.Context, number int) (Caller, error)
	// Work marks operations that are work of this process: its CPU time is the result, not a
	// limit of the generator.
	Work bool
}

// Redirected is the index of the address to which a connection goes.
func (j Job) Redirected(number int) int {
	if j.Instead == nil {
		return number
	}
	return j.Instead(number)
}

// Open reports whether the load is an open loop.
func (j Job) Open() bool { return j.Arrivals.Rate > 0 || len(j.Arrivals.Trace) > 0 }

// Caller performs operations one by one. It is used by one goroutine.
type Caller interface {
	// Call performs one operation. Its error fails the operation; a cancelled context ends it
	// at once.
	Call(ctx context.Context) (class int, bytes int64, err error)
	Close() error
}

// Joiner is a Caller that has something to do before its first operation in a load, such as to wait for its turn: Join returns
// when it is ready. What that takes belongs to no operation. An error fails the operation that it would have begun with, and it
// performs none. The context ends with the stage.
type Joiner interface {
	Join(ctx context.Context) error
}

// Think is the think time of a user in a closed loop.
type Think struct {
	Mean        time.Duration // 0 is no think time
	Exponential bool          // else constant, or
	Uniform     bool          // uniform from 0 to twice the mean
}
