package pace

import (
	"math"
	"math/bits"
	"time"
)

// Gaps counts how much later than its instant each wait ended. What the machine
// took from the pacer shows here: other processes, other guests, the collection of
// garbage. An instant that was past when the wait began is its caller's doing and
// not counted.
type Gaps struct {
	Waits   int64
	Longest time.Duration
	Spun    time.Duration // of CPU time, before the instants
	counts  [64 * quarters]int64
}

// quarters is how finely gaps are counted: in so many classes for each power of two.
const quarters = 4

func (g *Gaps) count(gap time.Duration) {
	g.Waits++
	g.Longest = max(g.Longest, gap)
	g.counts[class(gap)]++
}

func class(gap time.Duration) int {
	n := uint64(max(0, gap))
	if n < quarters {
		return int(n)
	}
	power := bits.Len64(n) - 3 // n >> power is one of 4 to 7
	return power*quarters + int(n>>power)
}

// longest is the longest gap of a class.
func longest(class int) time.Duration {
	if class < quarters {
		return time.Duration(class)
	}
	power := class/quarters - 1
	return time.Duration(class%quarters+quarters+1)<<power - 1
}

// Add adds the gaps of another pacer.
func (g *Gaps) Add(other Gaps) {
	g.Waits += other.Waits
	g.Longest = max(g.Longest, other.Longest)
	g.Spun += other.Spun
	for i, n := range other.counts {
		g.counts[i] += n
	}
}

// Quantile is a gap that the given share of the waits did not pass: at most a
// quarter too large, never too small. It is 0 without any wait.
func (g *Gaps) Quantile(share float64) time.Duration {
	left := int64(math.Ceil(share * float64(g.Waits)))
	for i, n := range g.counts {
		if left -= n; left <= 0 && g.Waits > 0 {
			return min(longest(i), g.Longest)
		}
	}
	return g.Longest
}
