package operations

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"plimsoll/internal/workload/operations/management"
)

// Migrations need two hosts at once. They get their share also where single operations could keep
// every host busy for ever.
func TestMigrationsAreNotStarved(t *testing.T) {
	l := &operations{Parameters: Parameters{PerHost: 1}, mix: []share{{management.Reconfigure, .8}, {management.Migrate, .2}}}
	survey := management.Survey{Hosts: []string{"h1", "h2"}}
	for i, id := range []string{"a", "b", "c", "d"} {
		survey.VMs = append(survey.VMs, management.VM{ID: id, Host: survey.Hosts[i%2], Power: management.On})
	}
	b := newSchedule(l, survey, 1, "test")
	dealt := map[management.Kind]int{}
	var flying []*assignment
	const operations = 500
	for n := 0; n < operations; {
		for d := b.choose(0); d != nil; d = b.choose(0) {
			flying = append(flying, d)
			dealt[d.Kind]++
			n++
		}
		if len(flying) == 0 {
			t.Fatal("nothing is in flight, and nothing can be chosen")
		}
		// One ends at a time, so that the other host is busy at each choice.
		done := flying[0]
		flying = flying[1:]
		b.settle(done, management.Outcome{}, nil)
	}
	if got := dealt[management.Migrate]; got < operations/5-5 || got > operations/5+5 {
		t.Errorf("%d of %d operations are migrations, want a fifth", got, operations)
	}
}

// BenchmarkSchedule is the cost of choosing and settling an operation with 256 threads on 64 hosts
// that hold 8,000 VMs, without any platform.
func BenchmarkSchedule(b *testing.B) {
	for _, limit := range []int{1, 8} {
		b.Run(fmt.Sprintf("per_host=%d", limit), func(b *testing.B) {
			l := &operations{Parameters: Parameters{PerHost: limit, VMs: 8000, Slots: 256}}
			var err error
			if l.mix, err = parseList("power-on 2, power-off 2, reconfigure 1, migrate 1"); err != nil {
				b.Fatal(err)
			}
			var survey management.Survey
			for i := range 64 {
				survey.Hosts = append(survey.Hosts, fmt.Sprintf("h%d", i))
			}
			for i := range l.VMs {
				survey.VMs = append(survey.VMs, management.VM{ID: fmt.Sprint(i), Host: survey.Hosts[i%64], Power: wanted(i)})
			}
			s := newSchedule(l, survey, 1, "test")
			left := atomic.Int64{}
			left.Store(int64(b.N))
			b.ResetTimer()
			var all sync.WaitGroup
			for thread := range l.Slots {
				all.Go(func() {
					for left.Add(-1) >= 0 {
						d, err := s.next(b.Context(), thread)
						if err != nil {
							b.Error(err)
							return
						}
						runtime.Gosched() // the operation
						s.settle(d, management.Outcome{}, nil)
					}
				})
			}
			all.Wait()
		})
	}
}

// A VM with snapshots is left alone while its memory is saved.
func TestSnapshotsOfASuspendedVMStay(t *testing.T) {
	l := &operations{Parameters: Parameters{PerHost: 8}, mix: []share{{management.RemoveSnapshots, 1}}}
	survey := management.Survey{Hosts: []string{"h1"}}
	for _, power := range []management.Power{management.On, management.Off, management.Suspended} {
		survey.VMs = append(survey.VMs, management.VM{ID: string(power), Host: "h1", Power: power, Snapshots: 1})
	}
	b := newSchedule(l, survey, 1, "test")
	chosen := map[string]bool{}
	for d := b.choose(0); d != nil; d = b.choose(0) {
		chosen[d.VM] = true
	}
	if !chosen[string(management.On)] || !chosen[string(management.Off)] || chosen[string(management.Suspended)] {
		t.Errorf("snapshots are removed of %v", chosen)
	}
}
