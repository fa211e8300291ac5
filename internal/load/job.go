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
	// More are further addresses that get as much load: Connections to each, and
	// Arrivals.Rate for each. Operations go to them in turn; one whose slots are all
	// taken is passed over until it answers.
	More []string
	// Instead is where a connection is made that is due at an address, both by their numbers
	// among Address and More: another one once that no longer serves. It is asked by many
	// goroutines at once, whenever a connection is made; nil leaves each where it is.
	Instead func(number int) int
	TLS     *tls.Config // nil: none
	// Upgrade has a connection go on over TLS, as a protocol does that begins without; nil is
	// TLS from the first byte.
	Upgrade func(ctx context.Context, conn net.Conn, config *tls.Config) (net.Conn, error)
	// Socket sets options of each new socket before it connects; nil leaves it as
	// the system makes it.
	Socket func(fd int) error

	// Arrivals offer operations in an open loop. The zero value is a closed
	// loop: each slot starts its next operation when its last has ended, after
	// Think.
	Arrivals Arrivals
	Think    Think

	Connections int // open at once; at least 1
	Window      int // operations outstanding on a connection at most; 0 means 1
	Threads     int // measuring threads, each with its own connections and its share of the schedule; 0 means 1
	// Fresh makes a new connection for each operation, which includes making it.
	Fresh bool

	// Tick is how long a thread may sleep past an instant at which an operation
	// is due: many are then written at once, for less CPU. 0 sleeps until just
	// before the instant and spins the rest.
	Tick    time.Duration
	Timeout time.Duration // of an operation, from its start; 0 means 10 s
	MaxLag  time.Duration // an operation later than this is abandoned; 0 abandons none

	Classes []string // names of the classes, in the order of their indexes; nil is one without a name
	// Dialogue makes the protocol of a new connection. The number is different
	// for each connection of a stage, reconnections included; use it with the stage's
	// seed.
	Dialogue func(number int) Dialogue
	// Caller makes a client that does whole operations itself, for protocols
	// that come with a client library. Only package routine takes it.
	Caller func(ctx context.Context, number int) (Caller, error)
	// Work reports that operations are work of this very process: its CPU time is the
	// measurement, not a limit of a generator.
	Work bool
}

// Redirected is the number of the address to which a connection goes instead of that number.
func (j Job) Redirected(number int) int {
	if j.Instead == nil {
		return number
	}
	return j.Instead(number)
}

// Open reports whether operations are offered on a schedule.
func (j Job) Open() bool { return j.Arrivals.Rate > 0 || len(j.Arrivals.Trace) > 0 }

// Caller performs operations one after the other. It is used by one goroutine.
type Caller interface {
	// Call does one operation and waits for its end. Its error fails the
	// operation; a cancelled context ends it at once.
	Call(ctx context.Context) (class int, bytes int64, err error)
	Close() error
}

// Think is the pause of a user between two operations of a closed loop.
type Think struct {
	Mean        time.Duration // 0 is back to back
	Exponential bool          // else always the mean, or
	Uniform     bool          // anything from 0 to twice the mean
}
