package balance

// bracket is a tournament of the hosts' rows: the winner of each match is the better of
// those of the two below it, and the first is the best of all.
type bracket struct{ winner []int32 }

// sort holds it among all rows.
func (b *bracket) sort(r *round) {
	n := len(r.rows)
	if b.winner == nil {
		b.winner = make([]int32, 2*n)
	}
	for h, w := range r.rows {
		if w != nil {
			w.sort()
		}
		b.winner[n+h] = int32(h)
	}
	for i := n - 1; i > 0; i-- {
		b.match(r, i)
	}
}

// again has a host compete whose row has changed, where there is a tournament.
func (b *bracket) again(r *round, h int) {
	if b.winner == nil {
		return
	}
	if w := r.rows[h]; w != nil {
		w.sort()
	}
	for i := (len(r.rows) + h) / 2; i > 0; i /= 2 {
		b.match(r, i)
	}
}

// second is one less than the merit of the best of all rows but that of a host: while a bound of
// the winner is above it, no other row needs a look.
func (b *bracket) second(r *round, h int) (most int64) {
	for i := len(r.rows) + h; i > 1; i /= 2 {
		most = max(most, r.top(int(b.winner[i^1])))
	}
	return max(0, most-1)
}

func (b *bracket) match(r *round, i int) {
	x, y := b.winner[2*i], b.winner[2*i+1]
	b.winner[i] = x
	if r.ahead(int(y), int(x)) {
		b.winner[i] = y
	}
}

// ahead orders the best moves of hosts like those within a row.
func (r *round) ahead(x, y int) bool {
	a, b := r.top(x), r.top(y)
	if a != b || a == 0 {
		return a > b
	}
	v, w := r.rows[x], r.rows[y]
	return v.vm[v.first] < w.vm[w.first]
}

// top is the most merit that a move off a host has; 0 where there is none.
func (r *round) top(h int) int64 {
	if w := r.rows[h]; w != nil && r.source(h) {
		return w.merit[w.first]
	}
	return 0
}
