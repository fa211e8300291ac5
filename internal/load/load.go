// Package load says when operations start, how they are offered, and what the
// client's side of a protocol looks like to the loops that drive it. The loops
// themselves are packages below: socket, one locked thread per measuring core
// over epoll, and routine, a goroutine per connection.
package load

import (
	"math"
	"time"
)

// Stage is one stretch of load.
type Stage struct {
	Length   time.Duration // longest time that the load may run; the recorder may end it sooner
	Interval time.Duration // length of the intervals that are reported
	Seed     uint64        // of every random choice that the load makes
}

// Demand is the demand of a load on the system under test. A simulated platform serves it,
// and Little's law is checked against it.
type Demand struct {
	Concurrency int           // operations outstanding in a closed loop; the limit of it in an open one
	Rate        float64       // operations offered per second; 0 in a closed loop
	Think       time.Duration // pause of each worker between two operations of a closed loop
	Drawn       float64       // operations between two pauses, where the lengths of these are drawn; 0 where all are alike
	Classes     []Class       // at least one
}

// Chance is what chance can make of Little's law, N = X*(R+Z), where the lengths of pauses
// are drawn, as a share of the loop, after so many operations of a mean of so many seconds:
// three standard errors of the mean pause, which deviate by no more than it is, as
// exponential ones do.
func (d Demand) Chance(operations int64, mean float64) float64 {
	if d.Drawn == 0 || d.Think == 0 {
		return 0
	}
	think := d.Think.Seconds()
	return 3 * think / (think + mean) / math.Sqrt(max(1, float64(operations)/d.Drawn))
}

// Class is one kind of operation in a mix.
type Class struct {
	Name  string  // empty when there is one class only
	Share float64 // of all operations, between 0 and 1
	Bytes int64   // moved by one operation
}
