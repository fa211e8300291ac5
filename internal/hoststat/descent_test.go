package hoststat_test

import (
	"fmt"
	"testing"

	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/hoststattest"
)

const lab = 2 // process ID

// host has processes of a program each, with the CPU time in hundredths of a second that they used in their life.
func host(processes ...[3]int) *hoststat.Reader {
	files := map[string]string{}
	for _, p := range processes {
		pid, parent, cpu := p[0], p[1], p[2]
		at := fmt.Sprintf("proc/%d/", pid)
		stat := fmt.Sprintf("%d (p) S %d 7 7 0 -1 0 0 0 0 0 %d 0 0 0 20 0 1 0 100 1000 50 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n", pid, parent, cpu)
		files[at+"stat"], files[at+"status"], files[at+"cmdline"], files[at+fmt.Sprintf("task/%d/stat", pid)] = stat, "Name:\tp\n", fmt.Sprintf("p%d\x00", pid), stat
	}
	r := hoststat.NewReader(hoststattest.Tree(recorded(files)))
	r.Parent = lab
	return r
}

// What a lab started is read in detail, however many others use more CPU time.
func TestProcessesOfTheLabAreReadInDetail(t *testing.T) {
	const ours = 200
	processes := [][3]int{{lab, 1, 0}, {ours, lab, 10}}
	for pid := 100; pid < 150; pid++ {
		processes = append(processes, [3]int{pid, 1, 100000})
	}
	detailed := 0
	for _, p := range host(processes...).Read(0).Processes {
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

// A busy program of others is read in detail, however many processes the lab started.
func TestABusyProgramOfOthersIsReadInDetail(t *testing.T) {
	const other = 200
	processes := [][3]int{{lab, 1, 0}, {other, 1, 100000}}
	for pid := 100; pid < 150; pid++ {
		processes = append(processes, [3]int{pid, lab, 100000})
	}
	ours := 0
	for _, p := range host(processes...).Read(0).Processes {
		if p.Detailed && p.Origin != "" {
			ours++
		}
		if p.PID == other && (!p.Detailed || len(p.Tasks) != 1) {
			t.Errorf("what others started: %+v", p)
		}
	}
	if ours < 10 {
		t.Errorf("%d processes of the lab are read in detail", ours)
	}
}
