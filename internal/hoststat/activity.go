package hoststat

import (
	"cmp"
	"slices"
	"strconv"

	"plimsoll/internal/hoststat/parse"
)

const (
	// StepsPerReading is how often Step is called between two readings to see pauses shorter
	// than their distance.
	StepsPerReading = 10
	mostFollowed    = 16  // threads followed
	mostOfProcess   = 2   // of one process
	leastRuns       = 20. // per reading, of a thread worth following
)

// Activity is how often a busy thread was scheduled on a CPU, in steps of a tenth of an interval.
type Activity struct {
	PID  int       `json:"pid"`
	TID  int       `json:"tid"`
	Runs []float64 `json:"runs"`
}

// followed is a thread that is read in each step.
type followed struct {
	Activity
	file string
	last float64
	seen bool // last is known
	idle int  // readings without activity
}

// Step reads how often the busiest threads were scheduled since the last step. Who calls it at
// equal distances between readings sees pauses of them.
func (r *Reader) Step() {
	r.followed = slices.DeleteFunc(r.followed, func(f followed) bool { return f.idle > 30 })
	for i := range r.followed {
		f := &r.followed[i]
		text, err := r.file(f.file)
		if err != nil {
			f.idle = 31 // it has ended
			continue
		}
		n := parse.Numbers(make([]float64, 0, 3), text)
		if len(n) < 3 {
			continue
		}
		if f.seen {
			f.Runs = append(f.Runs, max(0, n[2]-f.last))
		}
		f.last, f.seen = n[2], true
	}
}

// follow hands over the activity since the last reading, and chooses threads to follow: those
// that it follows stay.
func (r *Reader) follow(s *State) {
	for i := range r.followed {
		f := &r.followed[i]
		if len(f.Runs) == 0 || slices.Max(f.Runs) == 0 {
			f.idle++
		} else {
			f.idle = 0
		}
		if len(f.Runs) > 0 {
			s.Activity = append(s.Activity, f.Activity)
			f.Runs = make([]float64, 0, StepsPerReading)
		}
	}
	type candidate struct {
		pid, tid int
		runs     float64
	}
	var all []candidate
	runs := make(map[int]float64, len(r.runs))
	for i := range s.Processes {
		p := &s.Processes[i]
		for _, t := range p.Tasks {
			runs[t.TID] = t.Runs
			if before, known := r.runs[t.TID]; known && t.Runs-before >= leastRuns {
				all = append(all, candidate{p.PID, t.TID, t.Runs - before})
			}
		}
	}
	r.runs = runs
	slices.SortFunc(all, func(a, b candidate) int { return cmp.Compare(b.runs, a.runs) })
	for _, c := range all {
		ofProcess := 0
		for _, f := range r.followed {
			if f.PID == c.pid {
				ofProcess++
			}
			if f.TID == c.tid {
				ofProcess = mostOfProcess
			}
		}
		if ofProcess < mostOfProcess && len(r.followed) < mostFollowed {
			file := "proc/" + strconv.Itoa(c.pid) + "/task/" + strconv.Itoa(c.tid) + "/schedstat"
			r.followed = append(r.followed, followed{Activity: Activity{PID: c.pid, TID: c.tid}, file: file})
		}
	}
}
