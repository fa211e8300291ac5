package sim

import "math"

// event is an operation whose server, or whose worker, is done with it at an
// instant. All instants are seconds of virtual time.
type event struct {
	at      float64
	arrival float64 // when the operation was offered; none where there is no operation
}

// none marks a server that has no operation, or one that was counted.
const none = -1

// schedule is a binary heap of events, earliest first. Package container/heap
// would box each event, which costs more than the rest of the simulation.
type schedule []event

// next is the instant of the earliest event.
func (s schedule) next() float64 {
	if len(s) == 0 {
		return math.Inf(1)
	}
	return s[0].at
}

func (s *schedule) push(e event) {
	h := append(*s, e)
	*s = h
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if h[parent].at <= e.at {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = e
}

func (s *schedule) pop() event {
	h := *s
	first, last := h[0], h[len(h)-1]
	*s = h[:len(h)-1]
	if len(*s) > 0 {
		s.replace(last)
	}
	return first
}

// replace puts e in the place of the earliest event.
func (s *schedule) replace(e event) {
	h := *s
	i := 0
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1].at < h[child].at {
			child++
		}
		if e.at <= h[child].at {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = e
}

// shift moves all events to a later instant. Their order stays.
func (s schedule) shift(by float64) {
	for i := range s {
		s[i].at += by
		if s[i].arrival != none {
			s[i].arrival += by
		}
	}
}

// line holds instants, earliest first, in a ring.
type line struct {
	ring       []float64
	head, size int
}

// newLine makes a line for at most n.
func newLine(n int) line { return line{ring: make([]float64, n)} }

// next is the earliest instant.
func (l *line) next() float64 {
	if l.size == 0 {
		return math.Inf(1)
	}
	return l.ring[l.head]
}

// push adds a time, which must not be earlier than the present ones.
func (l *line) push(at float64) {
	i := l.head + l.size
	if i >= len(l.ring) {
		i -= len(l.ring)
	}
	l.ring[i] = at
	l.size++
}

func (l *line) pop() float64 {
	at := l.ring[l.head]
	if l.head++; l.head == len(l.ring) {
		l.head = 0
	}
	l.size--
	return at
}

func (l *line) shift(by float64) {
	for i := range l.ring {
		l.ring[i] += by
	}
}
