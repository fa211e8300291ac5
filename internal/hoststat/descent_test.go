package hoststat_test

import (
	"fmt"
	"testing"

	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/hoststattest"
)

// What a lab started is read in detail, however many others use more CPU time.
func TestProcessesOfTheLabAreReadInDetail(t *testing.T) {
	files := map[string]string{}
	add := func(pid, parent, cpu int) {
		at := fmt.Sprintf("proc/%d/", pid)
		stat := fmt.Sprintf("%d (p) S %d 7 7 0 -1 0 0 0 0 0 %d 0 0 0 20 0 1 0 100 1000 50 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n", pid, parent, cpu)
		files[at+"stat"], files[at+"status"], files[at+"cmdline"], files[at+fmt.Sprintf("task/%d/stat", pid)] = stat, "Name:\tp\n", fmt.Sprintf("p%d\x00", pid), stat
	}
	const lab, ours = 2, 200
	add(lab, 1, 0)
	add(ours, lab, 10) // 0.1 s
	for pid := 100; pid < 150; pid++ {
		add(pid, 1, 100000)
	}
	r := hoststat.NewReader(hoststattest.Tree(recorded(files)))
	r.Parent = lab
	detailed := 0
	for _, p := range r.Read(0).Processes {
		if p.Detailed {
			detailed++
		}
		if p.PID == ours && (!p.Detailed || len(p.Tasks) != 1 || p.Origin != "p200") {
			t.Errorf("what the lab started: %+v", p)
		}
	}
	if detailed < 10 || detailed > 40 {
		t.Errorf("%d processes are read in detail", detailed)
	}
}
