package plan

import (
	"iter"
	"time"

	"plimsoll/internal/measure"
)

// Estimate is what a study will take.
type Estimate struct {
	Trials    int            `json:"trials"` // if every planned block is needed
	Least     int            `json:"least"`  // if the first look decides
	Time      time.Duration  `json:"time"`   // for Trials
	LeastTime time.Duration  `json:"leastTime"`
	Changes   map[string]int `json:"changes"` // how often each factor of the machine is set, at most
	Restarts  int            `json:"restarts,omitempty"`
}

// Trials lists every trial in its order, if all are needed and none is void. A
// precision goal lists its pilot: the rest follows from what that measures.
func (p *Plan) Trials() iter.Seq[Trial] {
	return func(yield func(Trial) bool) {
		blocks, phase := p.Most, PhaseMain
		if p.Study.Measure.Precision > 0 {
			blocks, phase = pilotBlocks, PhasePilot
		}
		number := 0
		for b := 1; b <= blocks; b++ {
			for _, t := range p.block(b, phase) {
				number++
				t.Number = number
				if !yield(t) {
					return
				}
			}
		}
	}
}

// Estimate says what the study takes when a trial takes as long as given.
func (p *Plan) Estimate(perTrial time.Duration) Estimate {
	e := Estimate{Changes: map[string]int{}}
	now := map[string]string{}
	plot := 0
	for t := range p.Trials() {
		e.Trials++
		if t.Plot != plot {
			plot = t.Plot
			e.Restarts++
		}
		for _, f := range p.Study.Factors {
			name := f.FullName()
			if level := p.Arms[t.Arm].Levels[name]; f.Parameter == "" && f.Name != "label" && now[name] != level {
				now[name] = level
				e.Changes[name]++
			}
		}
	}
	e.Least = e.Trials
	if p.Looks != nil {
		e.Least = p.Looks[0] * len(p.Arms)
	}
	e.Time, e.LeastTime = time.Duration(e.Trials)*perTrial, time.Duration(e.Least)*perTrial
	return e
}

// Replay folds records into a fresh course, as resuming a run does.
func (p *Plan) Replay(records []measure.Record) *Course {
	c := p.Begin()
	for _, r := range records {
		c.Done(r)
	}
	return c
}
