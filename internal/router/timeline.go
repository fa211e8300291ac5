package router

import "time"

// timeline is a heap of packets by their time. Of those of the same time, packets that have arrived at the link of their destination are first, and
// then those that were pushed earlier.
type timeline struct {
	packets []packet
	count   uint64
}

func (t *timeline) empty() bool { return len(t.packets) == 0 }

// first is the earliest time.
func (t *timeline) first() time.Duration { return t.packets[0].at }

func (t *timeline) less(i, j int) bool {
	a, b := &t.packets[i], &t.packets[j]
	switch {
	case a.at != b.at:
		return a.at < b.at
	case a.arrived != b.arrived:
		return a.arrived
	}
	return a.order < b.order
}

func (t *timeline) push(p packet) {
	t.count++
	p.order = t.count
	t.packets = append(t.packets, p)
	for i := len(t.packets) - 1; i > 0; {
		parent := (i - 1) / 2
		if !t.less(i, parent) {
			return
		}
		t.packets[i], t.packets[parent] = t.packets[parent], t.packets[i]
		i = parent
	}
}

// pop removes the earliest packet.
func (t *timeline) pop() packet {
	p, last := t.packets[0], len(t.packets)-1
	t.packets[0], t.packets[last] = t.packets[last], packet{}
	t.packets = t.packets[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if t.less(child, least) {
				least = child
			}
		}
		if least == i {
			return p
		}
		t.packets[i], t.packets[least] = t.packets[least], t.packets[i]
		i = least
	}
}

// pool keeps buffers for frames, in a few sizes, so that many small packets take little memory.
type pool struct{ free [len(sizes)][][]byte }

var sizes = [...]int{2 << 10, 16 << 10, 64 << 10}

// class is the smallest size for so many bytes.
func class(bytes int) int {
	for i, size := range sizes {
		if bytes <= size {
			return i
		}
	}
	return len(sizes) - 1
}

func sizeFor(bytes int) int { return sizes[class(bytes)] }

// copy copies a frame of at most the largest size.
func (p *pool) copy(frame []byte) []byte {
	free := &p.free[class(len(frame))]
	var b []byte
	if n := len(*free); n > 0 {
		b, *free = (*free)[n-1], (*free)[:n-1]
	} else {
		b = make([]byte, sizeFor(len(frame)))
	}
	return b[:copy(b, frame)]
}

// put takes a buffer back.
func (p *pool) put(b []byte) {
	c := class(cap(b))
	p.free[c] = append(p.free[c], b[:cap(b)])
}
