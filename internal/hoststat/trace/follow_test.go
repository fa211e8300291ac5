package trace

import (
	"testing"

	"plimsoll/internal/hoststat"
)

// The threads of the busiest processes are kept, and those of a process in the focus.
func TestTrimmed(t *testing.T) {
	i := &hoststat.Interval{}
	for pid := 1; pid <= 40; pid++ {
		p := hoststat.Process{PID: pid, User: 1 / float64(pid)}
		for tid := range 20 {
			p.Tasks = append(p.Tasks, hoststat.Thread{TID: tid, RunDelay: float64(tid)})
		}
		i.Processes = append(i.Processes, p)
	}
	for _, p := range trimmed(i, []int{39}).Processes {
		if kept := p.PID <= mostTraced || p.PID == 39; kept != (len(p.Tasks) == mostKept) || !kept && len(p.Tasks) > 0 {
			t.Errorf("process %d has %d threads", p.PID, len(p.Tasks))
		} else if kept && p.Tasks[0].TID != 19 {
			t.Errorf("the first thread of process %d is %d", p.PID, p.Tasks[0].TID)
		}
	}
}
