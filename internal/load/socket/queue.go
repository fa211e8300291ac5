//go:build linux

package socket

import "time"

// ring is a queue of links, first in first out, with room for each of them once.
type ring struct {
	items       []int32
	first, size int
}

func newRing(n int) ring { return ring{items: make([]int32, max(1, n))} }

func (r *ring) push(link int32) {
	r.items[(r.first+r.size)%len(r.items)] = link
	r.size++
}

func (r *ring) pop() (link int32, ok bool) {
	if r.size == 0 {
		return 0, false
	}
	link = r.items[r.first]
	r.first = (r.first + 1) % len(r.items)
	r.size--
	return link, true
}

// pause is a user who thinks.
type pause struct {
	until time.Duration
	link  int32
}

// heap holds pauses, the one that ends first on top.
type heap []pause

func (h heap) next() time.Duration {
	if len(h) == 0 {
		return never
	}
	return h[0].until
}

func (h heap) due(now time.Duration) bool { return len(h) > 0 && h[0].until <= now }

func (h *heap) push(p pause) {
	*h = append(*h, p)
	q := *h
	for i := len(q) - 1; i > 0; {
		parent := (i - 1) / 2
		if q[parent].until <= q[i].until {
			break
		}
		q[parent], q[i] = q[i], q[parent]
		i = parent
	}
}

func (h *heap) pop() pause {
	q := *h
	top := q[0]
	last := len(q) - 1
	q[0] = q[last]
	q = q[:last]
	*h = q
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if q[child].until < q[least].until {
				least = child
			}
		}
		if least == i {
			return top
		}
		q[i], q[least] = q[least], q[i]
		i = least
	}
}
