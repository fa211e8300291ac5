package plan

import (
	"time"

	"plimsoll/internal/study"
)

// Estimate is the expected effort of a study, without repetitions of void trials.
type Estimate struct {
	Trials    int            `json:"trials"` // if every planned block is needed
	Least     int            `json:"least"`  // if the first look decides
	Time      time.Duration  `json:"time"`   // for Trials
	LeastTime time.Duration  `json:"leastTime"`
	Changes   map[string]int `json:"changes"` // number of changes of each factor of the machine, for Trials
	Restarts  int            `json:"restarts,omitempty"`
	// Open reports that the numbers are of the pilot, which determines how many trials follow.
	Open bool `json:"open,omitempty"`
}

// Estimate computes the effort of the study from the length of a trial.
func (p *Plan) Estimate(perTrial time.Duration) Estimate {
	e := Estimate{Changes: map[string]int{}, Open: p.Pilot > 0}
	now := map[string]string{}
	plot := 0
	for t := range p.Trials() {
		e.Trials++
		fresh := t.Plot != plot
		if fresh {
			plot = t.Plot
			e.Restarts++
		}
		for _, f := range p.Study.Factors {
			name := f.FullName()
			level := p.Arms[t.Arm].Levels[name]
			if f.Parameter != "" || f.Name == study.Label {
				continue
			}
			// Each whole plot is set again, even if its level is the previous one.
			if now[name] != level || f.Restart && fresh {
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
