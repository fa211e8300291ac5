package thread

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat"
)

const (
	// leastStalls at equal distances: that three more random ones are equally far apart is unlikely.
	leastStalls = 4
	// leastRegular is the share of stalls that are followed by another one after a period, and
	// mostChance the share that would be by chance.
	leastRegular, mostChance = 0.75, 0.35
	// seldomSeen and mostlySeen are shares of stalls in which a state must be seen: a process is
	// stopped for a reason only, and blocked now and then.
	seldomSeen, mostlySeen = 0.2, 0.5
	// mostStalled is the share of time in stalls: more is a duty cycle.
	mostStalled = 0.35
)

// sampling is how stalls show in a series.
type sampling struct {
	least   float64 // usual rate from which on a series is judged
	depth   float64 // share of the usual rate below which a step belongs to a stall
	scatter float64 // most median deviation from the usual rate, as a share of it
	steps   int     // least length of a stall
	slack   float64 // of distances, in steps
}

var (
	// bySecond is CPU time in intervals: clock ticks are a hundredth, stalls fill a part of an interval.
	bySecond = sampling{least: 0.1, depth: 0.6, scatter: 0.2, steps: 1, slack: 1.2}
	// byStep is how often a thread was scheduled in steps of a tenth.
	byStep = sampling{least: 5, depth: 0.2, scatter: 0.6, steps: 3, slack: 3}
)

// periodicStall finds work that stops at equal distances. Work that comes in periodic bursts
// looks alike, and has a low usual rate; single stalls, and stalls at random distances, have no
// period.
var periodicStall = diagnosis.Rule{
	Name: "periodic_stall", Area: diagnosis.Load,
	Doc:      "a program stops working at regular intervals",
	Needs:    []string{"cpus", "processes"},
	Explains: []string{"lock_convoy"},
	Lacks: func(e *diagnosis.Evidence) string {
		if len(e.Intervals) < 3*leastStalls {
			return fmt.Sprintf("no %d intervals or more: watch for longer", 3*leastStalls)
		}
		return ""
	},
	Check: func(e *diagnosis.Evidence) []diagnosis.Finding {
		var best *stall
		for _, p := range e.Programs() {
			if p.Helper() || !e.Asked(p.Processes[0]) {
				continue
			}
			s := stallsOf(e, p)
			if s == nil {
				continue
			}
			s.program = p
			s.stopped = s.share(e, p, func(one *hoststat.Process) bool { return one.Stopped > 0 })
			s.blocked = s.share(e, p, func(one *hoststat.Process) bool { return one.State == "D" })
			if best == nil || s.rank() > best.rank() {
				best = s
			}
		}
		if best == nil {
			return nil
		}
		return []diagnosis.Finding{best.finding(e)}
	},
}

// stallsOf looks for stalls in how often the threads of a program were scheduled, and in its CPU
// time; nil without any.
func stallsOf(e *diagnosis.Evidence, p *diagnosis.Program) *stall {
	series := map[int][]float64{} // by thread
	most := 0
	for n := range e.Intervals {
		for _, a := range e.Intervals[n].Activity {
			if slices.ContainsFunc(p.Processes, func(one *hoststat.Process) bool { return one.PID == a.PID }) {
				var runs [hoststat.StepsPerReading]float64
				copy(runs[:], a.Runs)
				for len(series[a.TID]) < n*hoststat.StepsPerReading { // not followed from the beginning
					series[a.TID] = append(series[a.TID], math.NaN())
				}
				series[a.TID] = append(series[a.TID], runs[:]...)
				if len(a.Runs) < hoststat.StepsPerReading {
					blank(series[a.TID], len(a.Runs))
				}
			}
		}
		most = (n + 1) * hoststat.StepsPerReading
	}
	for _, runs := range series {
		if len(runs) < most/2 {
			continue
		}
		if s := findStalls(runs, byStep); s != nil {
			s.perInterval = hoststat.StepsPerReading
			return s
		}
	}
	work := make([]float64, len(e.Intervals))
	for n := range e.Intervals {
		work[n] = workOf(&e.Intervals[n], p.Name)
	}
	s := findStalls(work, bySecond)
	if s != nil {
		s.perInterval = 1
	}
	return s
}

// blank marks the steps of the last interval that were not read.
func blank(series []float64, read int) {
	for i := len(series) - hoststat.StepsPerReading + read; i < len(series); i++ {
		series[i] = math.NaN()
	}
}

// workOf is the CPU time of a program in an interval.
func workOf(i *hoststat.Interval, name string) (busy float64) {
	for n := range i.Processes {
		if i.Processes[n].Name == name {
			busy += i.Processes[n].Busy()
		}
	}
	return busy
}

// stall is a program that stops periodically; distances are in intervals.
type stall struct {
	program          *diagnosis.Program
	low              []bool // by step
	perInterval      int    // steps
	count            int
	period, length   float64
	stopped, blocked float64 // share of the stalls in which a process was in that state
}

// rank prefers programs seen stopped or blocked, then servers, then the busiest.
func (s *stall) rank() float64 {
	rank := min(1, s.program.Busy/1000)
	if !client(s.program) {
		rank += 10
	}
	if s.blocked >= mostlySeen {
		rank += 100
	}
	if s.stopped >= seldomSeen {
		rank += 1000
	}
	return rank
}

// findStalls looks for steps with little work, at equal distances; nil without them. Steps that
// are not numbers were not seen.
func findStalls(work []float64, how sampling) *stall {
	known := slices.DeleteFunc(slices.Clone(work), math.IsNaN)
	usual := median(known)
	for i, w := range known {
		known[i] = math.Abs(w - usual)
	}
	if len(known) < 3*leastStalls || usual < how.least || median(known) > how.scatter*usual {
		return nil
	}
	s := &stall{low: make([]bool, len(work))}
	var centres []float64
	all := 0.
	for i := 0; i < len(work); i++ {
		lost, moment, end := 0., 0., i
		for ; end < len(work) && work[end] < how.depth*usual; end++ {
			deficit := (usual - work[end]) / usual
			lost, moment = lost+deficit, moment+deficit*float64(end)
		}
		if end-i >= how.steps {
			for n := i; n < end; n++ {
				s.low[n] = true
			}
			centres, all = append(centres, moment/lost), all+lost
		}
		i = end
	}
	s.count, s.length = len(centres), all/max(1, float64(len(centres)))
	if s.count < leastStalls || all > mostStalled*float64(len(known)) || !s.regular(centres, how.slack) {
		return nil
	}
	return s
}

// regular finds the shortest period after which nearly every stall is followed by another one.
func (s *stall) regular(centres []float64, slack float64) bool {
	last := float64(len(s.low) - 1)
	for period := math.Floor(2 * s.length); period <= last/(leastStalls-1); period++ {
		if period < 3 {
			continue
		}
		within := max(slack, 0.1*period)
		followed, judged, distance := 0., 0., 0.
		for _, c := range centres {
			if c+period+within > last {
				continue
			}
			judged++
			near := math.Inf(1)
			for _, d := range centres {
				if math.Abs(d-c-period) < math.Abs(near-c-period) {
					near = d
				}
			}
			if math.Abs(near-c-period) <= within {
				followed, distance = followed+1, distance+near-c
			}
		}
		chance := (2*within + 1) * float64(len(centres)) / last
		if judged >= leastStalls-1 && followed >= leastRegular*judged && chance <= mostChance {
			s.period = distance / followed
			return s.length <= mostStalled*s.period
		}
	}
	return false
}

// share is the share of stalls in which a process of the program was seen in a state.
func (s *stall) share(e *diagnosis.Evidence, p *diagnosis.Program, in func(*hoststat.Process) bool) float64 {
	seen, stalls, counted := 0., 0., false
	for n, low := range s.low {
		if !low {
			counted = false
			continue
		}
		if n == 0 || !s.low[n-1] {
			stalls++
		}
		if counted {
			continue
		}
		for k := range e.Intervals[n/s.perInterval].Processes {
			if one := &e.Intervals[n/s.perInterval].Processes[k]; one.Name == p.Name && in(one) {
				seen, counted = seen+1, true
				break
			}
		}
	}
	return seen / max(stalls, 1)
}

// stalled is the share of an interval that lies in stalls.
func (s *stall) stalled(interval int) float64 {
	n := 0.
	for i := interval * s.perInterval; i < (interval+1)*s.perInterval && i < len(s.low); i++ {
		if s.low[i] {
			n++
		}
	}
	return n / float64(s.perInterval)
}

// during is the program that works more while the other one stalls.
func (s *stall) during(e *diagnosis.Evidence) (name string, more float64) {
	for _, p := range e.Programs() {
		in, out, lows, highs := 0., 0., 0., 0.
		for n := range e.Intervals {
			low, w := s.stalled(n), workOf(&e.Intervals[n], p.Name)
			in, lows, out, highs = in+low*w, lows+low, out+(1-low)*w, highs+1-low
		}
		if d := in/max(lows, 1e-9) - out/max(highs, 1e-9); d > more {
			name, more = p.Subject(), d
		}
	}
	return name, more
}

func (s *stall) finding(e *diagnosis.Evidence) diagnosis.Finding {
	every := e.Mean.Seconds / float64(len(e.Intervals)) / float64(s.perInterval)
	f := diagnosis.Finding{
		Subject:    s.program.Subject(),
		Says:       "{subject} stops working every {period} for {length}",
		Confidence: diagnosis.Likely,
		Impact:     min(1, s.length/s.period),
		Evidence:   []diagnosis.Fact{diagnosis.Seconds("period", s.period*every), diagnosis.Seconds("length", s.length*every), diagnosis.Number("stalls", float64(s.count))},
		Change:     &diagnosis.Change{Says: "find what happens with that period: timers, cron jobs, checkpoints, garbage collections or backups", Command: "systemctl list-timers --all"},
		Prediction: &diagnosis.Prediction{Low: 0, High: s.length / (s.period - s.length), Of: "throughput", Basis: "time of a stall / time between stalls"},
	}
	name, more := s.during(e)
	switch {
	case s.stopped >= seldomSeen:
		f.Says += "; its processes are stopped meanwhile (state T)."
		f.Confidence = diagnosis.Certain
		f.Change = &diagnosis.Change{Says: "find who sends SIGSTOP to " + s.program.Name + ", such as a debugger, a job control or a snapshot tool", Command: fmt.Sprintf("perf trace -e kill --filter 'sig == 19' # target %d", s.program.Processes[0].PID)}
	case s.blocked >= mostlySeen:
		f.Says += "; its processes are blocked meanwhile (state D)."
		f.Change = &diagnosis.Change{Says: "see where " + s.program.Name + " is blocked", Command: fmt.Sprintf("for i in $(seq 60); do grep -H . /proc/%d/task/*/stack | head; sleep 1; done", s.program.Processes[0].PID)}
	case more >= 0.3:
		f.Says += "; " + name + " uses {more} more CPUs meanwhile."
		f.Evidence = append(f.Evidence, diagnosis.Number("more", more))
		f.Change = &diagnosis.Change{Says: "find out why " + name + " works with that period, and move or spread its work"}
	default:
		f.Says += "."
	}
	f.Says = strings.TrimSpace(f.Says)
	return f
}

func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	if len(sorted) == 0 {
		return 0
	}
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
