package document

// arena allocates the members of mappings and lists in chunks. Allocations after a mark can be
// freed together.
type arena struct {
	chunk []Node
	used  int
}

// The nodes of the first chunk, and of the largest.
const (
	firstChunk   = 256
	largestChunk = 1 << 14
)

// keep copies nodes into the arena.
func (a *arena) keep(list []Node) []Node {
	if a.used+len(list) > len(a.chunk) {
		a.chunk, a.used = make([]Node, max(firstChunk, len(list), min(2*len(a.chunk), largestChunk))), 0
	}
	end := a.used + len(list)
	out := a.chunk[a.used:end:end]
	copy(out, list)
	a.used = end
	return out
}

// mark is a position in an arena.
type mark struct {
	chunk *Node
	used  int
}

func (a *arena) mark() mark {
	if len(a.chunk) == 0 {
		return mark{}
	}
	return mark{&a.chunk[0], a.used}
}

// release frees the allocations since a mark, to which nothing may refer.
func (a *arena) release(m mark) {
	if a.used = 0; len(a.chunk) > 0 && m.chunk == &a.chunk[0] {
		a.used = m.used
	}
}
