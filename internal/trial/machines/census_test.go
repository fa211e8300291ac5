package machines

import (
	"fmt"
	"math"
	"testing"
	"time"

	"plimsoll/internal/hoststat"
)

// A kernel thread that changes its name has used what it used meanwhile; a process that has the identifier of another,
// all that it used.
func TestUsersOfCPUs(t *testing.T) {
	t.Parallel()
	stat := func(pid int, name string, ticks, started int) string {
		return fmt.Sprintf("%d (%s) S 2 0 0 0 -1 69238880 0 0 0 0 0 %d 0 0 20 0 1 0 %d 0 0\n", pid, name, ticks, started)
	}
	at := time.Unix(0, 0)
	before := readCensus(stat(7, "kworker/u8:1-flush-254:0", 90_000, 30)+stat(8, "redis (x) 1", 500, 40)+stat(9, "gone", 70_000, 50), at)
	after := readCensus(stat(7, "kworker/u8:1-events_unbound", 90_010, 30)+stat(8, "redis (x) 1", 800, 40)+stat(9, "new", 200, 60), at.Add(10*time.Second))
	all, sum := after.Users(before)
	want := []User{{"redis (x) 1", .3}, {"new", .2}, {"kworker/u8:1-events_unbound", .01}}
	if len(all) != len(want) || math.Abs(sum-.51) > 1e-9 {
		t.Fatalf("%v, %g CPUs", all, sum)
	}
	for i := range want {
		if all[i].Name != want[i].Name || math.Abs(all[i].CPUs-want[i].CPUs) > 1e-9 {
			t.Errorf("%v, want %v", all[i], want[i])
		}
	}
}

// The share withheld is of the time wanted: user, nice, system, interrupts and steal.
func TestWithheld(t *testing.T) {
	t.Parallel()
	at := time.Unix(0, 0)
	before := readCensus("cpu  100 0 100 5000 50 0 0 10 7 0\ncpu0 100 0 100 5000 50 0 0 10 7 0\n", at)
	after := readCensus("cpu  130 10 140 9000 90 5 5 20 30 0\ncpu0 130 10 140 9000 90 5 5 20 30 0\n", at.Add(time.Minute))
	if got := after.Withheld(before); math.Abs(got-.1) > 1e-12 || after.CPUs != 1 {
		t.Errorf("withheld %g of the time of %d CPUs, want 0.1 of 1", got, after.CPUs)
	}
	if got := before.Withheld(before); got != 0 {
		t.Errorf("no time has passed, and %g is withheld", got)
	}
	if got := readCensus("cpu  1 2\n", at); got.all != (hoststat.CPU{}) {
		t.Errorf("a line cut short: %+v", got)
	}
}
