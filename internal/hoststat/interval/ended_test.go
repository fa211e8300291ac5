package interval_test

import (
	"math"
	"testing"

	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/interval"
)

// What children used before the interval, in which they ended, is not the interval's.
func TestReapedCPUIsThatOfTheInterval(t *testing.T) {
	type process = hoststat.Process
	for _, c := range []struct {
		name            string
		before, now     []process
		reaped, faulted float64 // of process 1
	}{
		{"children that nobody saw", []process{{PID: 1, Reaped: 5, Faulted: 100}}, []process{{PID: 1, Reaped: 8, Faulted: 700}}, 3, 600},
		{"one that was seen before", []process{{PID: 1, Reaped: 5}, {PID: 2, Parent: 1, User: 50, System: 10, Minor: 900}}, []process{{PID: 1, Reaped: 65.5, Faulted: 950}}, .5, 50},
		{"it had children of its own", []process{{PID: 1}, {PID: 2, Parent: 1, User: 3, Reaped: 4}}, []process{{PID: 1, Reaped: 7.25}}, .25, 0},
		{"grandchildren that ended with it", []process{{PID: 1}, {PID: 2, Parent: 1, User: 3}, {PID: 3, Parent: 2, User: 2}, {PID: 4, Parent: 3, System: 1}}, []process{{PID: 1, Reaped: 6.5}}, .5, 0},
		{"one that another process waited for", []process{{PID: 1}, {PID: 2, Parent: 1, User: 3}}, []process{{PID: 1}}, 0, 0},
		{"its number is taken again", []process{{PID: 1}, {PID: 2, Parent: 1, User: 3}}, []process{{PID: 1, Reaped: 3.5}, {PID: 2, Parent: 1, Started: 9}}, .5, 0},
		{"a process that began meanwhile", nil, []process{{PID: 1, Reaped: 2, Faulted: 30}}, 2, 30},
		{"a circle", []process{{PID: 1}, {PID: 2, Parent: 3, User: 1}, {PID: 3, Parent: 2}}, []process{{PID: 1, Reaped: 1}}, 1, 0},
	} {
		for n := range c.now {
			c.now[n].User += 1 // it was active
		}
		i := interval.Between(&hoststat.State{At: 10, Processes: c.before}, &hoststat.State{At: 12, Processes: c.now})
		if p := i.Processes[0]; p.PID != 1 || math.Abs(2*p.Reaped-c.reaped) > 1e-9 || math.Abs(2*p.Faulted-c.faulted) > 1e-9 {
			t.Errorf("%s: %g CPU seconds and %g faults, want %g and %g", c.name, 2*p.Reaped, 2*p.Faulted, c.reaped, c.faulted)
		}
	}
}
