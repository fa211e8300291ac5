// Package load defines schedules, and the client's side of protocols. The loops that run loads
// are packages below: socket, locked threads over epoll, and routine, goroutines per
// connection.
package load

import (
	"math"
	"time"
)

// Stage is one load.
type Stage struct {
	Length   time.Duration // maximum length; the recorder may end it earlier
	Interval time.Duration // length of the reported intervals
	Seed     uint64        // of all random choices of the load
	Within   time.Duration // limit of response times in a search; 0 for none
}

// Demand is the demand of a load on the system under test. A simulated platform serves it,
// and Little's law is checked against it.
type Demand struct {
	Concurrency int           // operations in flight in a closed loop; their limit in an open one
	Rate        float64       // operations offered per second; 0 in a closed loop
	Think       time.Duration // think time between operations of a closed loop
	Drawn       float64       // operations between two think times, if these are random; 0 if constant
	Classes     []Class       // at least one
	Ramps       bool          // operations in flight grow to Concurrency over the load, which has no steady state
}

// Chance is the random error of Little's law, N = X*(R+Z), with random think times, as a share
// of the loop, after the given number of operations with the mean in seconds: three standard
// errors of the mean think time, whose standard deviation is at most its mean, as for the
// exponential distribution.
func (d Demand) Chance(operations int64, mean float64) float64 {
	if d.Drawn == 0 || d.Think == 0 {
		return 0
	}
	think := d.Think.Seconds()
	return 3 * think / (think + mean) / math.Sqrt(max(1, float64(operations)/d.Drawn))
}

// Class is one kind of operations in a mix.
type Class struct {
	Name  string  // empty when there is one class only
	Share float64 // of all operations, between 0 and 1
	Bytes int64   // transferred by one operation
}
