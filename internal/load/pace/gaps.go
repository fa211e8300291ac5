package pace

import "time"

// Gaps is the distribution of the lateness of waits: the effect of other processes, other
// guests, and garbage collection. Times that had passed when the wait began are not counted.
type Gaps struct {
	Waits   int64
	Longest time.Duration
	Spun    time.Duration // CPU time spent spinning
}

func (g *Gaps) count(gap time.Duration) {
	g.Waits++
	g.Longest = max(g.Longest, gap)
}
