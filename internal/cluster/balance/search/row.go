package search

import (
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/worth"
)

// row holds the best moves from one host to all others, or bounds of them. It takes 13 bytes
// per target; hosts without offers have none.
type row struct {
	offers   []worth.Offer
	ceilings ceilings
	memory   int64   // lowest of an offer
	dirty    int64   // highest dirty rate of an offer
	merit    []int64 // by target: of the best move, 0 if there is none
	vm       []cluster.VMID
	stale    []bool // the merit is only an upper bound

	first int   // the target with the best move
	heads []int // and of each block of targets
	open  []bool
	any   bool // some block is open: its best move must be found again
}

// block is the number of targets compared again when the best of them changes.
const block = 64

func newRow(hosts int) *row {
	blocks := (hosts + block - 1) / block
	w := &row{
		merit: make([]int64, hosts), vm: make([]cluster.VMID, hosts), stale: make([]bool, hosts),
		heads: make([]int, blocks), open: make([]bool, blocks),
	}
	for i := range w.heads {
		w.heads[i] = i * block
	}
	return w
}

// precedes orders targets by the merit of their moves.
func (w *row) precedes(a, b int) bool {
	switch {
	case w.merit[a] != w.merit[b]:
		return w.merit[a] > w.merit[b]
	case w.vm[a] != w.vm[b]:
		return w.vm[a] < w.vm[b]
	}
	return a < b
}

// set records the best move to a target.
func (w *row) set(to int, v cluster.VMID, merit int64) {
	w.merit[to], w.vm[to], w.stale[to] = merit, v, false
	switch i := to / block; {
	case to == w.heads[i]:
		w.open[i], w.any = true, true
	case !w.open[i] && w.precedes(to, w.heads[i]):
		w.heads[i] = to
		if !w.any && w.precedes(to, w.first) {
			w.first = to
		}
	}
}

// expect records a bound of the moves to a target, which precedes moves of the same merit.
func (w *row) expect(to int, most int64) {
	w.set(to, cluster.Nowhere, most)
	w.stale[to] = most > 0
}

// sort finds the first target of each open block.
func (w *row) sort() {
	if !w.any {
		return
	}
	w.any = false
	for i, open := range w.open {
		if !open {
			continue
		}
		w.open[i] = false
		begin := i * block
		first := begin
		for k, m := range w.merit[begin:min(begin+block, len(w.merit))] {
			if m >= w.merit[first] && w.precedes(begin+k, first) {
				first = begin + k
			}
		}
		w.heads[i] = first
	}
	w.first = w.heads[0]
	for _, head := range w.heads {
		if w.merit[head] >= w.merit[w.first] && w.precedes(head, w.first) {
			w.first = head
		}
	}
}
