package events

import (
	"cmp"
	"slices"
)

const (
	mostPoints = 300  // lines with a load that are kept
	mostTrials = 5000 // that are kept; of more, the last ones
)

// State is the state of a run by its events. Its size is bounded, whatever they are.
type State struct {
	Run    *Run    `json:"run,omitempty"`
	Last   Line    `json:"last"`
	Trials []Ended `json:"trials"` // that ended, by number
	Points []Point `json:"points"` // of the last minutes of this session
	Notes  []Note  `json:"notes"`  // the last ones
}

// Point is the load of all machines between two lines.
type Point struct {
	Elapsed float64 `json:"elapsed"`
	Trial   int     `json:"trial"`
	Figures
	After bool `json:"after,omitempty"` // it follows on the point before without a gap
}

// Add adds a line.
func (s *State) Add(l Line) {
	if l.Run != nil {
		if s.Run != nil && (s.Run.Study != l.Run.Study || !slices.Equal(s.Run.Arms, l.Run.Arms)) {
			*s = State{}
		}
		s.Run, s.Points, s.Last = l.Run, nil, Line{}
	}
	for _, e := range l.Ended {
		s.end(e)
	}
	s.Notes = append(s.Notes, l.Notes...)
	s.Notes = s.Notes[max(0, len(s.Notes)-mostNotes):]
	if l.Load != nil {
		after := s.Last.Load != nil && s.Last.Trial == l.Trial && l.Load.From >= s.Last.Load.To
		if n := len(s.Points); n >= mostPoints {
			s.Points = slices.Delete(s.Points, 0, n-mostPoints+1)
		}
		s.Points = append(s.Points, Point{Elapsed: l.Elapsed, Trial: l.Trial, Figures: l.Load.Figures, After: after})
	}
	counters := s.Last.Counters
	if s.Last = l; l.Counters == nil && l.Load != nil { // they are read more seldom where that is slow
		s.Last.Counters = counters
	}
	s.Last.Ended, s.Last.Notes, s.Last.Run = nil, nil, nil
}

// end adds a trial that ended, once.
func (s *State) end(e Ended) {
	i, known := slices.BinarySearchFunc(s.Trials, e.Trial, func(t Ended, number int) int { return cmp.Compare(t.Trial, number) })
	switch {
	case e.Trial < 1 || i == 0 && !known && len(s.Trials) == mostTrials:
		return
	case known:
		s.Trials[i] = e
	default:
		s.Trials = slices.Insert(s.Trials, i, e)
	}
	s.Trials = slices.Delete(s.Trials, 0, max(0, len(s.Trials)-mostTrials))
}
