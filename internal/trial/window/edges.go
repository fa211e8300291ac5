package window

import (
	"cmp"
	"math"
	"slices"

	"plimsoll/internal/measure"
)

// took is how many operations of one interval took so long.
type took struct {
	seconds float64
	count   int64
}

// tailInterval is an interval with those of its operations that took longest.
type tailInterval struct {
	from    float64 // seconds since the load began
	longest []took  // longest first
}

// Edges is what operations at the edges of the window can make of Little's law. In a
// loop of N workers the response times that a window of T seconds counts add up to
//
//	N*T + (what the operations in flight at its beginning had behind them)
//	    - (what those in flight at its end had behind them)
//
// since an operation counts in whole where it ends. Nothing is assumed of how
// response times are distributed: one operation in a million may take a second.
type Edges struct {
	Before  float64 // share that the first sum adds to N*T at most
	After   float64 // share that the second one takes away
	Silence float64 // share of the window at its end in which no operation ended
}

// EdgesOf bounds both sums by the data. The operations in flight at the beginning ended in
// the window, so that their response times are known. Those in flight at the end did not:
// they are taken to be as old, all together, as the operations in flight were at any
// interval of the window. Each worker has one operation in flight.
func EdgesOf(intervals []measure.Interval, w measure.Window, n float64) Edges {
	var inside []tailInterval
	quiet := w.Cut
	for i := range intervals {
		in := &intervals[i]
		if !w.Holds(in) {
			continue
		}
		inside = append(inside, tailInterval{in.From.Seconds(), slowest(in, n)})
		for _, s := range in.Samples {
			if s.Operations > 0 {
				quiet = in.To.Seconds()
			}
		}
	}
	length := w.End - w.Cut
	if len(inside) == 0 || length <= 0 {
		return Edges{}
	}
	whole := n * length
	longest := 0.
	for _, of := range inside {
		if len(of.longest) > 0 {
			longest = max(longest, of.longest[0].seconds)
		}
	}
	s := Edges{Before: ages(inside, n, longest) / whole, Silence: max(0, w.End-quiet) / length}
	for i := range inside {
		s.After = max(s.After, ages(inside[i:], n, longest)/whole)
	}
	return s
}

// slowest are the n operations of an interval that took longest.
func slowest(in *measure.Interval, n float64) (all []took) {
	for _, s := range in.Samples {
		for _, bar := range in.Longest(s.Class, int64(math.Ceil(n))) {
			all = append(all, took{bar.To.Seconds(), bar.Count})
		}
	}
	return oldest(all, n)
}

// oldest keeps the n longest, longest first.
func oldest(all []took, n float64) []took {
	slices.SortFunc(all, func(a, b took) int { return cmp.Compare(b.seconds, a.seconds) })
	left := int64(math.Ceil(n))
	for i := range all {
		all[i].count = min(all[i].count, left)
		if left -= all[i].count; left == 0 {
			return all[:i+1]
		}
	}
	return all
}

// ages is how many seconds the n operations in flight at the beginning of the first
// interval had behind them at most. One that ended after that began no earlier than
// its response time before the beginning of the interval in which it ended, and not before
// the load did. No operation took longer than longest.
func ages(from []tailInterval, n, longest float64) float64 {
	begin := from[0].from
	var all []took
	for _, s := range from {
		if s.from-begin >= longest {
			break
		}
		for _, op := range s.longest {
			if age := min(op.seconds-(s.from-begin), begin); age > 0 {
				all = append(all, took{age, op.count})
				continue
			}
			break // the others are shorter
		}
	}
	sum := 0.
	for _, op := range oldest(all, n) {
		sum += op.seconds * float64(op.count)
	}
	return sum
}
