package interval

import (
	"testing"

	"plimsoll/internal/hoststat"
)

// A thread that only the second reading has counts with all it used if it began since. The thread list of a large program is limited: one that was left out
// before is older.
func TestThreadsSeenForTheFirstTime(t *testing.T) {
	old := hoststat.Process{PID: 7, Name: "server", Started: 100, Detailed: true, Tasks: []hoststat.Thread{{TID: 7, Started: 100, User: 50}}}
	before := &hoststat.State{At: 10, Processes: []hoststat.Process{old, {PID: 9, Name: "late", Started: 900}}}
	now := old
	now.User = 60
	now.Tasks = []hoststat.Thread{
		{TID: 7, Started: 100, User: 51}, {TID: 8, Started: 950, User: 1}, {TID: 11, Started: 120, User: 1.5}, {TID: 12, Started: 950, User: 90}, {TID: 13, User: 1}, {TID: 14, User: 90},
	}
	i := Between(before, &hoststat.State{At: 12, Processes: []hoststat.Process{now}})
	if len(i.Processes) != 1 {
		t.Fatalf("%+v", i.Processes)
	}
	want := map[int]float64{7: .5, 8: .5, 11: 0, 12: 0, 13: .5, 14: 0} // a recording of earlier versions has no starts
	for _, one := range i.Processes[0].Tasks {
		if one.User != want[one.TID] {
			t.Errorf("thread %d used %v CPUs, want %v", one.TID, one.User, want[one.TID])
		}
		delete(want, one.TID)
	}
	if len(want) > 0 {
		t.Errorf("threads without a rate: %v", want)
	}
}
