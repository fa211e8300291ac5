// Package memory measures how fast this host reads from its last-level cache while others use it.
package memory

import (
	"math/rand/v2"
	"slices"
	"time"
)

const (
	line   = 16           // numbers per cache line of 64 bytes
	lines  = 4 << 20 / 64 // 4 MiB: more than most second-level caches, less than a last-level one
	pieces = 16           // of a pass, so that interruptions do not count
	piece  = lines / pieces
)

// Probe reads a ring of cache lines in random order. Where other programs stream through memory,
// the lines are gone from the cache when they are read again a few milliseconds later.
type Probe struct {
	ring []uint32
	at   uint32
}

// NewProbe prepares the ring.
func NewProbe() *Probe {
	p := &Probe{ring: make([]uint32, lines*line)}
	order := rand.New(rand.NewPCG(1, 2)).Perm(lines)
	for i, from := range order {
		p.ring[from*line] = uint32(order[(i+1)%lines] * line)
	}
	return p
}

// Latency is the time that a read of a line takes that was read a few milliseconds ago. It takes
// a pass over the ring and a quarter, about 3 ms.
func (p *Probe) Latency() time.Duration {
	p.walk(lines)
	times := make([]time.Duration, pieces/4)
	for i := range times {
		begin := time.Now()
		p.walk(piece)
		times[i] = time.Since(begin) / piece
	}
	slices.Sort(times)
	return times[1]
}

// walk reads some lines.
func (p *Probe) walk(n int) {
	at := p.at
	for range n {
		at = p.ring[at]
	}
	p.at = at
}
