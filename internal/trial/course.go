package trial

import (
	"fmt"
	"slices"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/platform"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/search"
)

// schedule names the next trial, and estimates the time that the rest takes.
type schedule struct {
	study      *study.Study
	arms       int
	planned    []int              // looks
	sim        platform.Simulator // nil on real machines
	course     *plan.Progress
	blocks     int              // that it may need
	rest       int              // trials that it may still need
	least      int              // of them, if the next look decides
	records    []measure.Record // that ended, in order
	began      time.Time
	trialBegan time.Time             // the trial under way began; zero between trials
	preparing  time.Duration         // about how long it takes the first time
	anew       bool                  // each trial prepares its load
	unready    bool                  // the trial under way is being prepared
	prepared   map[int]time.Duration // how long that took, by trial
	before     int                   // trials that ended in sessions before this one
	earlier    time.Duration         // that they took
	why        string                // the run ended
}

// next names the trial to run now, and notes how many may follow.
func (s *schedule) next() (plan.Trial, bool) {
	t, more := s.course.Next()
	status := s.course.Status()
	s.blocks = status.Target
	s.rest = max(1, (status.Target-status.Blocks)*s.arms-(t.Slot-1))
	s.least = min(s.rest, status.AtLeast)
	if !more {
		s.rest, s.least, s.why = 0, 0, status.Reason
	}
	return t, more
}

// took enters a trial that has ended.
func (s *schedule) took(record *measure.Record) {
	s.trialBegan, s.unready = time.Time{}, false
	s.records = append(s.records, *record)
	s.course.Done(*record)
	s.rest, s.least = s.course.Status().AtMost, s.course.Status().AtLeast
}

// now is the time of day, virtual where the platform is.
func (s *schedule) now() time.Time {
	if s.sim != nil {
		return s.sim.Now()
	}
	return time.Now()
}

// recent is how long each of the last trials took. One that is void and ended before its
// time tells nothing of the others.
func (s *schedule) recent() (all []time.Duration) {
	const recent = 10
	for i := len(s.records) - 1; i >= 0 && len(all) < recent; i-- {
		r := &s.records[i]
		if took := r.End.Sub(r.Start); r.Valid() || took >= s.asked() {
			if i == s.before {
				took -= s.onlyOnce()
			}
			all = append(all, took)
		}
	}
	return all
}

// timePreparing takes the time that it takes to prepare a trial, until it is ready.
func (s *schedule) timePreparing(trial int) (ready func()) {
	began := time.Now()
	s.unready = true
	return func() {
		if s.prepared == nil {
			s.prepared = map[int]time.Duration{}
		}
		s.unready, s.prepared[trial] = false, time.Since(began)
		if len(s.records) == s.before {
			s.preparing = s.prepared[trial]
		}
	}
}

// onlyOnce is what preparing the first trial of this session took beyond what it took the
// next one; until that is known all of it, unless each trial starts a service of its own.
func (s *schedule) onlyOnce() time.Duration {
	first := s.records[s.before].Trial
	if len(s.records) > s.before+1 {
		return max(0, s.prepared[first]-s.prepared[s.records[s.before+1].Trial])
	}
	if s.anew {
		return 0
	}
	return s.prepared[first]
}

// overhead is the approximate time of a trial besides settling and load: set, read back,
// start and stop programs, restore.
const overhead = 300 * time.Millisecond

// Length estimates one trial of a study before any has run: settle time, warm-up
// (half the window where it is found by itself), window, overhead.
func Length(s *study.Study) time.Duration {
	m := s.Measure
	load := time.Duration(s.Windows() * float64(m.Window))
	if _, searches := s.Load.Sought(); !searches {
		if m.Warmup == study.AutoWarmup {
			load += m.Window / 2
		}
		load += max(m.Warmup, 0)
	}
	return m.Settle + load + overhead
}

// Longest is how long a trial of a study takes whose load comes to no steady state before
// measure.longest, or whose probes all take as long as those at the first rate of a search; 0 for searches whose probes are not longer for their
// quantiles.
func Longest(s *study.Study) time.Duration {
	if p := s.Load.Peak; p != nil {
		window := s.Measure.Window.Seconds()
		probe := search.ProbeLength(s, p.Within, p.From, window)
		if probe <= search.ProbeLength(s, nil, p.From, window) {
			return 0
		}
		return s.Measure.Settle + time.Duration(s.Windows()*float64(probe)) + overhead
	}
	if _, searches := s.Load.Sought(); searches {
		return 0
	}
	return max(Length(s), s.Measure.Settle+s.Measure.Longest+overhead)
}

// asked is the configured length of a trial.
func (s *schedule) asked() time.Duration {
	if s.sim != nil {
		return Length(s.study) - s.study.Measure.Settle - overhead
	}
	return Length(s.study)
}

// typical is about how long a trial takes: the median of the last ones or, before
// the first, what the study asks for. Of an even number it is the smaller of the
// two in the middle, since the first trial also prepares.
func (s *schedule) typical() time.Duration {
	last := s.recent()
	if len(last) == 0 {
		return s.asked()
	}
	slices.Sort(last)
	return last[(len(last)-1)/2]
}

// left estimates how long the rest takes if every trial is needed.
func (s *schedule) left() time.Duration { return s.lasting(s.rest) }

// soonest estimates how long the rest takes if the next look decides.
func (s *schedule) soonest() time.Duration { return s.lasting(s.least) }

// lasting estimates how long trials take, that under way included. Before any has
// ended preparing is known as the loads and services think it is. A trial that takes
// longer than those before it says that the others may as well. In virtual time a trial
// takes what those before it took on the clock; 0 while there is none.
func (s *schedule) lasting(trials int) time.Duration {
	if trials == 0 {
		return 0
	}
	if s.sim != nil {
		ended := len(s.records) - s.before
		if ended == 0 {
			return 0
		}
		return time.Duration(trials) * time.Since(s.began) / time.Duration(ended)
	}
	each, ended := s.typical(), len(s.recent())
	expected, under := each, time.Duration(0)
	if len(s.records) == s.before {
		expected += s.preparing
	}
	if !s.trialBegan.IsZero() {
		under = time.Since(s.trialBegan)
	}
	if late := under - expected; late > 0 {
		if !s.unready { // a slow preparation is not of the load
			each += late / time.Duration(ended+1)
		}
		expected = under
	}
	return time.Duration(trials-1)*each + expected - under
}

// looks are the number of complete blocks, and that at the next planned look; 0 if there is none.
func (s *schedule) looks() (complete, next int) {
	if s.course == nil {
		return 0, 0
	}
	complete = s.course.Status().Blocks
	for _, look := range s.planned {
		if look > complete {
			return complete, look
		}
	}
	return complete, 0
}

// used is the run's used time budget, over all sessions.
func (s *schedule) used() time.Duration {
	used := s.earlier
	if s.sim == nil {
		return used + time.Since(s.began)
	}
	for _, r := range s.records[s.before:] {
		used += r.End.Sub(r.Start)
	}
	return used
}

// spent reports whether another trial would exceed the budget of time.
func (s *schedule) spent() bool {
	budget := s.study.Measure.Time
	if budget <= 0 || s.used()+s.typical() <= budget {
		return false
	}
	s.why = fmt.Sprintf("the time budget of %s does not allow another trial after %d", budget, len(s.records))
	return true
}
