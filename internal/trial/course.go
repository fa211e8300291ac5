package trial

import (
	"fmt"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
)

// next names the trial to run now, and notes how many may follow.
func (s *session) next() (plan.Trial, bool) {
	t, more := s.course.Next()
	status := s.course.Status()
	s.blocks = status.Target
	s.rest = max(1, (status.Target-status.Blocks)*len(s.Plan.Arms)-(t.Slot-1))
	if !more {
		s.rest, s.why = 0, status.Reason
	}
	return t, more
}

// took enters a trial that has ended, and tells of it.
func (s *session) took(record *measure.Record) {
	s.trialBegan = time.Time{}
	s.records = append(s.records, *record)
	s.course.Done(*record)
	s.rest = s.course.Status().AtMost
	s.reporter.say(PhaseJudged, 0, record.Void)
}

// now is the time of day, virtual where the platform is.
func (s *session) now() time.Time {
	if s.sim != nil {
		return s.sim.Now()
	}
	return time.Now()
}

// recent is how long each of the last trials took. One that is void and ended before its
// time tells nothing of the others.
func (s *session) recent() (all []time.Duration) {
	const recent = 10
	for i := len(s.records) - 1; i >= 0 && len(all) < recent; i-- {
		r := &s.records[i]
		if took := r.End.Sub(r.Start); r.Valid() || took >= s.asked() {
			all = append(all, took)
		}
	}
	return all
}

// asked is how long the study asks a trial to take.
func (s *session) asked() time.Duration {
	m := s.Study.Measure
	load := max(m.Warmup, m.Window/4) + time.Duration(s.Study.Windows()*float64(m.Window))
	if s.sim != nil {
		return load
	}
	return m.Settle + load
}

// typical is about how long a trial takes: what the last ones took or, before
// the first, what the study asks for.
func (s *session) typical() time.Duration {
	last := s.recent()
	if len(last) == 0 {
		return s.asked()
	}
	var sum time.Duration
	for _, took := range last {
		sum += took
	}
	return sum / time.Duration(len(last))
}

// left estimates how long the rest takes if every trial is needed. The trial under way is
// one of them. Before any has ended preparing is known as the loads and services think it is. A
// trial that takes longer than those before it says that the others may as well.
func (s *session) left() time.Duration {
	if s.rest == 0 {
		return 0
	}
	each, ended := s.typical(), len(s.recent())
	expected, under := each, time.Duration(0)
	if ended == 0 && s.sim == nil {
		expected += s.preparing
	}
	if s.sim == nil && !s.trialBegan.IsZero() {
		under = time.Since(s.trialBegan)
	}
	if late := under - expected; late > 0 {
		each += late / time.Duration(ended+1)
		expected = under
	}
	return time.Duration(s.rest-1)*each + expected - under
}

// used is how much of its budget of time the run has used, in all sessions.
func (s *session) used() time.Duration {
	used := s.earlier
	if s.sim == nil {
		return used + time.Since(s.began)
	}
	for _, r := range s.records[s.before:] {
		used += r.End.Sub(r.Start)
	}
	return used
}

// spent says whether another trial would pass the budget of time.
func (s *session) spent() bool {
	budget := s.Study.Measure.Time
	if budget <= 0 || s.used()+s.typical() <= budget {
		return false
	}
	s.why = fmt.Sprintf("the time budget of %s does not allow another trial after %d", budget, len(s.records))
	return true
}
