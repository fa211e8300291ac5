package reflector

// span is the number of sequence numbers below the highest that a flow remembers. An older one
// counts as late, though it may be a duplicate.
const span = 1 << 16

// farthest is the maximum jump of a sequence number: more than any link loses in a burst.
const farthest = 1 << 40

// window detects duplicate and late sequence numbers of a flow.
type window struct {
	next  uint64 // one above the highest
	count uint64 // distinct numbers so far
	seen  [span / 64]uint64
}

// arrival is the class of a sequence number.
type arrival int

const (
	first    arrival = iota // above all previous ones
	late                    // below a previous one, and new
	repeated                // a duplicate
	absurd                  // cannot belong to the flow
)

func (w *window) add(n uint64) arrival {
	switch {
	case n >= w.next+farthest:
		return absurd
	case n >= w.next:
		w.advance(n + 1)
		w.mark(n)
		w.count++
		return first
	case w.next-n > span:
		// Duplicates that count as late must not compensate for missing numbers.
		if w.count == w.next {
			return repeated
		}
		w.count++
		return late
	case w.marked(n):
		return repeated
	}
	w.mark(n)
	w.count++
	return late
}

// advance drops the numbers that leave the window.
func (w *window) advance(next uint64) {
	if next-w.next >= span {
		w.seen = [span / 64]uint64{}
	} else {
		for n := w.next; n < next; n++ {
			w.seen[n%span/64] &^= 1 << (n % 64)
		}
	}
	w.next = next
}

func (w *window) mark(n uint64)        { w.seen[n%span/64] |= 1 << (n % 64) }
func (w *window) marked(n uint64) bool { return w.seen[n%span/64]>>(n%64)&1 == 1 }

// missing is the number of missing sequence numbers below the highest.
func (w *window) missing() int64 { return int64(w.next - w.count) }
