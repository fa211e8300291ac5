package change

import (
	"math"
	"slices"

	"plimsoll/internal/stat"
)

// Settle is the number of points for which a change is provisional, after the one with which it was found.
const Settle = 5

// window is the number of latest points that a look judges at most. It bounds the time that a look takes.
const window = 250

// Change is a change of a series that is watched.
type Change struct {
	Point
	Found  int  // index of the point with which an alarm was raised
	Frozen bool // later points cannot move it; else it is provisional
}

// Watched is a series that was judged after each of its points, as if it had been watched.
type Watched struct {
	Changes []Change // in order; the last may be provisional
	Alarms  int      // times that a change was found where none was provisional, those that were withdrawn included
	// Autocorrelation is that of the residuals at lag 1, around the means of the segments. Dependent is set if chance seldom explains it: P of
	// the changes then does not hold.
	Autocorrelation float64
	Dependent       bool
}

// Watch judges a series after each point, as whoever watches it sees it: an alarm is raised when the points since the last frozen change
// have a change. It is provisional for Settle more points: each judges it again, may move it, and withdraws it if it is not found any
// more. It is then frozen where it was found last, and the points after it are a series of their own. What is known after a point follows from the
// points up to it alone, so that no later point moves a frozen change, and whoever replays the series finds the same.
//
// With independent points, each look raises a false alarm with a probability of Alpha at most, whatever the number of looks before: on average
// a series without changes has Alpha alarms per point or fewer.
func Watch(series []float64, rule Rule) Watched {
	if !stat.Finite(series) {
		return Watched{}
	}
	var w Watched
	from, since := 0, -1 // first point of the segment; point with which the standing alarm was raised
	var standing *Point
	for n := rule.Least(); n <= len(series); n++ {
		start := max(from, n-window)
		found := points(series[start:n], rule.at(n))
		if len(found) == 0 {
			standing, since = nil, -1
			continue
		}
		p := found[0]
		p.At += start
		standing = &p
		if since < 0 {
			since = n - 1
			w.Alarms++
		}
		if n-1-since >= Settle {
			w.Changes = append(w.Changes, Change{Point: p, Found: since, Frozen: true})
			from, since, standing = p.At, -1, nil
		}
	}
	if standing != nil {
		w.Changes = append(w.Changes, Change{Point: *standing, Found: since})
	}
	w.measure(series)
	return w
}

// at is the rule for the look after so many points: each has permuted orders of its own.
func (r Rule) at(n int) Rule {
	r.Seed = stat.Scatter(r.Seed ^ stat.Scatter(uint64(n)))
	return r
}

// measure sets the shifts of the changes, each between the segments beside it, and the autocorrelation.
func (w *Watched) measure(series []float64) {
	residuals := make([]float64, 0, len(series))
	before := math.NaN()
	for i, s := range w.Segments(len(series)) {
		mean, _ := stat.Moments(series[s.From:s.To])
		if i > 0 {
			w.Changes[i-1].Shift = mean - before
		}
		before = mean
		for _, v := range series[s.From:s.To] {
			residuals = append(residuals, v-mean)
		}
	}
	squares, apart := 0., 0.
	for i, r := range residuals {
		squares += r * r
		if i > 0 {
			apart += r * residuals[i-1]
		}
	}
	if squares > 0 {
		w.Autocorrelation = apart / squares
		w.Dependent = len(series) >= dependentFrom && w.Autocorrelation > criticalZ/math.Sqrt(float64(len(series)))
	}
}

const (
	dependentFrom = 20  // points, below which the autocorrelation is too uncertain
	criticalZ     = 2.6 // of a one-sided test at 0.5 %: the estimate is asymptotically normal with variance 1/n
)

// Segment is a range of points without a change.
type Segment struct{ From, To int } // To is not part of it

// Segments divides n points at the changes.
func (w *Watched) Segments(n int) []Segment {
	edges := []int{0}
	for _, c := range w.Changes {
		edges = append(edges, c.At)
	}
	edges = slices.Compact(append(edges, n))
	var out []Segment
	for i := 1; i < len(edges); i++ {
		out = append(out, Segment{edges[i-1], edges[i]})
	}
	return out
}
