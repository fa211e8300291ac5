package pace

import "time"

// Gaps says how much later than its instant each wait ended. What the machine
// took from the pacer shows here: other processes, other guests, the collection of
// garbage. An instant that was past when the wait began is its caller's doing and
// not counted.
type Gaps struct {
	Waits   int64
	Longest time.Duration
	Spun    time.Duration // of CPU time, before the instants
}

func (g *Gaps) count(gap time.Duration) {
	g.Waits++
	g.Longest = max(g.Longest, gap)
}
