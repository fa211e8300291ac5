package pmu

import (
	"errors"
	"io/fs"
	"testing"

	"golang.org/x/sys/unix"
)

// Groups of events are read per CPU: here those that any kernel counts, as machines of tests may
// have no PMU.
func TestGroups(t *testing.T) {
	g, err := open([]int{0}, []event{
		{unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_CPU_CLOCK}, {unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_CONTEXT_SWITCHES}, {unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_PAGE_FAULTS},
	})
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.ENOSYS) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	before, err := g.read()
	if err != nil {
		t.Fatal(err)
	}
	var sum int
	for n := range 50_000_000 {
		sum += n
	}
	after, err := g.read()
	if err != nil || sum == 0 || len(after) != 1 || len(after[0]) != 3 || after[0][0] <= before[0][0] {
		t.Errorf("from %v to %v, %v", before, after, err)
	}
}

// What cannot be counted is said with the reason.
func TestOpen(t *testing.T) {
	c, err := Open([]int{0})
	if err != nil {
		t.Log(err)
		return
	}
	counts, err := c.Read()
	if err != nil || len(counts) != 1 || counts[0].Cycles == 0 {
		t.Errorf("%+v, %v", counts, err)
	}
}

func TestBetween(t *testing.T) {
	r := Between([]CPU{{100, 200, 5}, {9, 9, 9}}, []CPU{{300, 800, 9}, {0, 0, 0}}, 2)
	if len(r) != 2 || r[0] != (CPU{100, 300, 2}) || r[1] != (CPU{}) {
		t.Errorf("rates %+v", r)
	}
}
