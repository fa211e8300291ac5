package tile

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/measure/score"
	"plimsoll/internal/quantity"
	"plimsoll/internal/study"
)

// Work is what one member of a tile did in a window.
type Work struct {
	Tile   int // from 1
	Group  study.Group
	Rate   string // metric of the group's operations per second
	Values map[string]float64
}

// Missed is a limit that a member of a tile did not meet.
type Missed struct {
	Tile          int
	Group, Metric string
	Value, Limit  float64
	Unit          string
}

// Name is the limit with its group, such as "elastic.p99".
func (m Missed) Name() string { return m.Group + "." + m.Metric }

// String is the reason why a number of tiles was not carried.
func (m Missed) String() string {
	if m.Unit == idle {
		return fmt.Sprintf("%s of tile %d completed no operation", m.Group, m.Tile)
	}
	return fmt.Sprintf("%s of tile %d: %s was %s, limit %s", m.Group, m.Tile, m.Metric, quantity.Of(m.Value, m.Unit), quantity.Of(m.Limit, m.Unit))
}

// Outcome is how the members of all tiles did together.
type Outcome struct {
	Values map[string]float64 // measure.TileMetrics, and measure.TilesMetric
	Missed []Missed           // the one furthest beyond its limit first
}

// Unknown is the error of a window in which a member completed too few operations for a limit on a quantile.
type Unknown struct {
	Missed // with the slowest operation as its value, 0 where that is unknown
}

// Reason is the reason why a number of tiles was not carried, where fewer could be judged.
func (u *Unknown) Reason() string {
	text := fmt.Sprintf("%s of tile %d completed too few operations for %s", u.Group, u.Tile, u.Metric)
	if u.Value > 0 {
		text += fmt.Sprintf(", the slowest took %s, limit %s", quantity.Of(u.Value, u.Unit), quantity.Of(u.Limit, u.Unit))
	}
	return text
}

// Error says what to change.
func (u *Unknown) Error() string {
	return fmt.Sprintf("group %s completed too few operations in the window for %s: raise measure.window, or limit a lower quantile", u.Group, u.Metric)
}

// Managed is how many management operations of a kind were completed per hour.
type Managed struct {
	study.Operation
	PerHour float64
}

// Judge holds every member of every tile against the limits of its group, and scores the tiles with the operations beside
// them, and by the mean power of the host in watts where that is above 0. Its error is an *Unknown.
func Judge(all []Work, managed []Managed, watts float64) (Outcome, error) {
	out := Outcome{Values: map[string]float64{}}
	tiles := map[int]score.Tile{}
	failed := map[int]bool{}
	kept, most := 0, 0
	for _, w := range all {
		missed, err := w.missed()
		if err != nil {
			return out, err
		}
		if most = max(most, w.Tile); len(missed) == 0 {
			kept++
		} else {
			failed[w.Tile] = true
		}
		out.Missed = append(out.Missed, missed...)
		if w.Group.Reference > 0 {
			ratio, err := score.Ratio(w.Values[w.Rate], w.Group.Reference)
			if err != nil {
				return out, fmt.Errorf("group %s: %w", w.Group.Name, err)
			}
			tiles[w.Tile] = append(tiles[w.Tile], ratio)
		}
	}
	slices.SortStableFunc(out.Missed, func(a, b Missed) int {
		if a.excess() > b.excess() {
			return -1
		} else if a.excess() < b.excess() {
			return 1
		}
		return 0
	})
	out.Values[measure.Kept] = float64(kept) / float64(max(1, len(all)))
	out.Values[measure.TilesMetric().Name] = float64(most - len(failed))
	for _, m := range managed {
		out.Values[m.Metric().Name] = m.PerHour
	}
	return out, out.score(tiles, most, managed, watts)
}

// score enters the scores of tiles, if their groups have references.
func (o *Outcome) score(tiles map[int]score.Tile, most int, managed []Managed, watts float64) error {
	if len(tiles) == 0 {
		return nil
	}
	inOrder := make([]score.Tile, most)
	for n, t := range tiles {
		inOrder[n-1] = t
	}
	var operations []float64
	for _, m := range managed {
		if m.Reference > 0 {
			ratio, err := score.Ratio(m.PerHour, m.Reference)
			if err != nil {
				return fmt.Errorf("operation %s: %w", m.Kind, err)
			}
			operations = append(operations, ratio)
		}
	}
	s, err := score.Of(inOrder, operations)
	if err != nil {
		return err
	}
	if all := s.Overall; all != nil {
		o.Values[measure.OverallScore], o.Values[measure.OperationsScore], o.Values[measure.OperationsWeight] = all.Score, all.Operations, all.OperationsShare
	}
	if watts > 0 {
		if o.Values[measure.KilowattScore], err = s.PerKilowatt(watts); err != nil {
			return err
		}
	}
	o.Values[measure.Score], o.Values[measure.Worst], o.Values[measure.Fairness] = s.Applications, s.Tiles[s.Worst], s.Fairness
	return nil
}

// idle is the unit of a member that did nothing.
const idle = "idle"

// errorRate is the metric of failed operations per second.
const errorRate = "errors"

// missed are the limits of its group that a member did not meet. Unless the group limits failed operations, none may fail.
func (w Work) missed() (all []Missed, err error) {
	if v := w.Values[errorRate]; v > 0 && !w.Group.LimitsErrors() {
		all = append(all, Missed{Tile: w.Tile, Group: w.Group.Name, Metric: errorRate, Value: v, Unit: "1/s"})
	}
	for _, l := range w.Group.Limits {
		v, known := w.Values[l.Metric]
		switch {
		case !known && w.Values[w.Rate] == 0: // it did nothing in all the window
			return []Missed{{Tile: w.Tile, Group: w.Group.Name, Metric: w.Rate, Unit: idle}}, nil
		case !known:
			slowest, known := w.Values[l.Metric[:strings.LastIndex(l.Metric, ".")+1]+"max"]
			if !known || slowest > *l.Max {
				return nil, &Unknown{Missed{Tile: w.Tile, Group: w.Group.Name, Metric: l.Metric, Value: slowest, Limit: *l.Max, Unit: l.Unit}}
			}
		case v > *l.Max:
			all = append(all, Missed{Tile: w.Tile, Group: w.Group.Name, Metric: l.Metric, Value: v, Limit: *l.Max, Unit: l.Unit})
		}
	}
	return all, nil
}

// excess is how far a value is beyond its limit, relative to that.
func (m Missed) excess() float64 {
	if m.Limit == 0 {
		return 1e9 + m.Value
	}
	return m.Value / m.Limit
}
