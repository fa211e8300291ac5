package search

import (
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/draft"
	"plimsoll/internal/cluster/place"
)

// table holds the rows of all hosts and their best in a tournament tree: the winner of each
// match is the better of the two winners below it, and the root is the best of all.
type table struct {
	d      *draft.Draft
	rows   []*row  // by host; nil without offers
	winner []int32 // nil before the first sort
}

// sort builds the tournament tree of all rows.
func (t *table) sort() {
	n := len(t.rows)
	if t.winner == nil {
		t.winner = make([]int32, 2*n)
	}
	for h, w := range t.rows {
		if w != nil {
			w.sort()
		}
		t.winner[n+h] = int32(h)
	}
	for i := n - 1; i > 0; i-- {
		t.match(i)
	}
}

// again replays the matches of a host whose row has changed, if there is a tree.
func (t *table) again(h cluster.HostID) {
	if t.winner == nil {
		return
	}
	if w := t.rows[h]; w != nil {
		w.sort()
	}
	for i := (len(t.rows) + int(h)) / 2; i > 0; i /= 2 {
		t.match(i)
	}
}

// drop removes the moves off a host.
func (t *table) drop(h cluster.HostID) {
	t.rows[h] = nil
	t.again(h)
}

// best is the host whose best move is the best of all.
func (t *table) best() cluster.HostID { return cluster.HostID(t.winner[1]) }

// second is the best merit of all other rows, less one: while a bound of the winner is above
// it, no other row needs a refresh.
func (t *table) second(h cluster.HostID) (most int64) {
	for i := len(t.rows) + int(h); i > 1; i /= 2 {
		most = max(most, t.top(cluster.HostID(t.winner[i^1])))
	}
	return max(0, most-1)
}

func (t *table) match(i int) {
	x, y := t.winner[2*i], t.winner[2*i+1]
	t.winner[i] = x
	if t.ahead(cluster.HostID(y), cluster.HostID(x)) {
		t.winner[i] = y
	}
}

// ahead orders the best moves of hosts like those within a row.
func (t *table) ahead(x, y cluster.HostID) bool {
	a, b := t.top(x), t.top(y)
	if a != b || a == 0 {
		return a > b
	}
	v, w := t.rows[x], t.rows[y]
	return v.vm[v.first] < w.vm[w.first]
}

// top is the merit of the best move off a host; 0 if there is none.
func (t *table) top(h cluster.HostID) int64 {
	if w := t.rows[h]; w != nil && t.d.Loaded(h) {
		return w.merit[w.first]
	}
	return 0
}

// first is the first move of a host's row.
func (t *table) first(from cluster.HostID) place.Step {
	w := t.rows[from]
	return place.Step{VM: w.vm[w.first], From: from, To: cluster.HostID(w.first)}
}
