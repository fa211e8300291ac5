package trial

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/study"
	"plimsoll/internal/workload"
)

// Phase is a step of a run.
type Phase string

// The phases of a run, in their order within a trial.
const (
	PhasePrepare Phase = "prepare"
	PhaseApply   Phase = "apply"
	PhaseSettle  Phase = "settle"
	PhaseWarmUp  Phase = "warm up"
	PhaseMeasure Phase = "measure"
	PhaseJudged  Phase = "judged" // the trial ended; Note holds why it is void, if it is
	PhaseRestore Phase = "restore"
	PhaseClean   Phase = "clean"
	PhaseEnd     Phase = "end" // Note holds why the run ended
)

// Event is how a run goes, as it goes.
type Event struct {
	Phase    Phase
	Trial    int // number of the trial; 0 outside of trials
	Trials   int // at most
	Block    int
	Arm      string
	Blocks   int                // complete ones
	Look     int                // number of complete blocks at the next planned look; 0 if there is none
	Left     time.Duration      // estimate, if all trials are needed; 0 is unknown
	Soonest  time.Duration      // estimate, if the next look decides; 0 is unknown
	Rate     float64            // operations per second over the last interval; 0 outside of loads
	Load     []measure.Interval // of the load so far, to be read only; nil outside of loads
	Machines []MachineLoad      // the same of each machine, where there are several
	Counters []MachineCounters  // at most once a second during a load
	Metric   measure.Metric     // of Value: the first headline
	Value    *float64           // of the trial that was judged; nil where it has none
	Earlier  bool               // the trial ended in an earlier session
	Note     string             // message, as a phrase
}

// reporter hands events on, one at a time, with the fields that stay the same.
type reporter struct {
	mu      sync.Mutex
	hand    func(Event)
	current Event // the constant part
	left    func() time.Duration
	soonest func() time.Duration
	looks   func() (complete, next int) // nil for none
	counted time.Time                   // when counters were last reported
}

// at fixes the trial that the following events are about.
func (r *reporter) at(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current = e
}

func (r *reporter) say(phase Phase, rate float64, note string) {
	r.tell(func(e *Event) { e.Phase, e.Rate, e.Note = phase, rate, note })
}

// judged reports a trial that has ended: why it is void, else its value.
func (r *reporter) judged(record *measure.Record, m measure.Metric) {
	r.tell(func(e *Event) { e.judge(record, m) })
}

func (e *Event) judge(record *measure.Record, m measure.Metric) {
	e.Phase, e.Note, e.Metric = PhaseJudged, record.Void, m
	if v, ok := record.Values[m.Name]; ok && record.Valid() {
		e.Value = &v
	}
}

// earlier reports the trials that ended in earlier sessions.
func (r *reporter) earlier(b *Bench, records []measure.Record) {
	m := b.Headline()
	for i := range records {
		record := &records[i]
		r.tell(func(e *Event) {
			e.judge(record, m)
			e.Earlier, e.Trial, e.Block = true, record.Trial, record.Block
			if record.Arm >= 0 && record.Arm < len(b.Plan.Arms) {
				e.Arm = b.Plan.Arms[record.Arm].Label
			}
		})
	}
}

func (r *reporter) tell(fill func(*Event)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hand == nil {
		return
	}
	e := r.current
	e.Left, e.Soonest = r.left(), r.soonest()
	if r.looks != nil {
		e.Blocks, e.Look = r.looks()
	}
	fill(&e)
	r.hand(e)
}

func (s *session) log(format string, args ...any) {
	s.reporter.say(PhasePrepare, 0, fmt.Sprintf(format, args...))
}

// Headline is the metric of a trial that people watch: the first one that decides. It has no name where
// there is none.
func (b *Bench) Headline() measure.Metric {
	kind := b.Catalog.Workload(b.Study.Workload.Kind)
	if kind == nil {
		return measure.Metric{}
	}
	return headline(b.Study, *kind)
}

func headline(s *study.Study, kind workload.Kind) measure.Metric {
	if len(s.Headline) == 0 {
		return measure.Metric{}
	}
	name := s.Headline[0]
	all := kind.Metrics
	if sought, ok := s.Load.Sought(); ok {
		all = append([]measure.Metric{sought}, all...)
	}
	if i := slices.IndexFunc(all, func(m measure.Metric) bool { return m.Name == name }); i >= 0 {
		return all[i]
	}
	return measure.Metric{Name: name}
}
