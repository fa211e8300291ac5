package reflector

// span is how many numbers below its highest one a flow remembers. One that comes
// later than that is taken for late, though it may be a repeated one.
const span = 1 << 16

// farthest is how far ahead a number may lie: more than any link loses at a stretch.
const farthest = 1 << 40

// window tells the new numbers of a flow from those that came before.
type window struct {
	next  uint64 // one above the highest
	count uint64 // different numbers so far
	seen  [span / 64]uint64
}

// arrival is what a number is to its flow.
type arrival int

const (
	first    arrival = iota // above all that came before
	late                    // below one that came before, and new
	repeated                // came before
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
		// Late ones that are really repeated ones must not make up for missing ones
		// that do not exist.
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

// advance forgets the numbers that fall out of the window.
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

// missing is how many numbers below the highest have not come.
func (w *window) missing() int64 { return int64(w.next - w.count) }
