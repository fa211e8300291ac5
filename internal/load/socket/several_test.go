package socket

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/measure"
)

// Each of several servers gets as many connections, and about as many operations, as
// one alone would.
func TestSeveralAddresses(t *testing.T) {
	bothAtOnce(t, func(t *testing.T, l loop) {
		const instances, connections, rate = 3, 4, 1000.
		for _, threads := range []int{1, 2} {
			loadtest.Calm(t, func() error {
				servers := make([]*server, instances)
				for i := range servers {
					servers[i] = serve(t, "tcp", faults{})
				}
				j := job(servers[0], load.Job{Connections: connections, Threads: threads, Arrivals: load.Arrivals{Rate: rate}})
				for _, s := range servers[1:] {
					j.More = append(j.More, s.address)
				}
				r := l.run(t, j)
				shares := make([]int64, instances)
				for _, in := range r.Intervals() {
					for i, n := range in.Shares {
						shares[i] += n
					}
				}
				after := r.operations - r.counted // the end of the load
				for i, s := range servers {
					got := s.served.Load()
					if after -= got - shares[i]; got < shares[i] {
						t.Errorf("%d threads: server %d served %d operations, and is said to have served %d", threads, i, got, shares[i])
					}
					if got := s.accepted.Load(); got != connections {
						t.Errorf("%d threads: server %d has %d connections, want %d", threads, i, got, connections)
					}
					if share := float64(shares[i]) / float64(r.operations); share < .2 || share > .5 {
						return fmt.Errorf("%d threads: server %d got %.2f of the operations", threads, i, share)
					}
				}
				if after != 0 {
					t.Errorf("%d threads: the servers are not said to have served %d operations", threads, after)
				}
				if want := int64(instances * rate * length.Seconds()); r.operations != want {
					return fmt.Errorf("%d threads: %d operations, want %d", threads, r.operations, want)
				}
				return nil
			})
		}
	})
}

// One of several servers that is gone is named.
func TestOneOfSeveralIsGone(t *testing.T) {
	both(t, func(t *testing.T, l loop) {
		s, gone := serve(t, "tcp", faults{}), serve(t, "tcp", faults{})
		gone.stop()
		j := job(s, load.Job{Connections: 2, More: []string{gone.address}})
		if err := l(t.Context(), j, measure.NewRecorder(nil)); err == nil || !strings.Contains(err.Error(), "connect to "+gone.address) {
			t.Errorf("the error is %v", err)
		}
	})
}

// Where one of several servers no longer serves, its connections go to another: the load
// stays as large.
func TestInstead(t *testing.T) {
	bothBeside(t, func(t *testing.T, l loop) {
		for _, think := range loadtest.First(1, []time.Duration{time.Millisecond, 0}) {
			const last = 20
			loadtest.Calm(t, func() error {
				s, leaves := serve(t, "tcp", faults{}), serve(t, "tcp", faults{last: last})
				j := job(s, load.Job{Connections: 2, More: []string{leaves.address}, Think: load.Think{Mean: think}})
				j.Instead = func(number int) int {
					if leaves.served.Load() >= last {
						return 0
					}
					return number
				}
				r := l.run(t, j)
				if r.errors > 4 || leaves.accepted.Load() != 2 {
					t.Errorf("pause %s: %d errors, %d connections to the one that leaves", think, r.errors, leaves.accepted.Load())
				}
				if got := s.accepted.Load(); got != 4 || s.served.Load() == 0 {
					return fmt.Errorf("pause %s: %d connections to the one that stays, which served %d", think, got, s.served.Load())
				}
				return nil
			})
		}
	})
}
