package cqliot

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// ring maps a token to its first node. It is immutable.
type ring struct {
	tokens []int64 // in order
	owners []int   // of each
	nodes  []string
}

// newRing takes the tokens of each node, as SELECT tokens FROM system.local has them;
// one that is not in the ring has none.
func newRing(nodes []string) (r ring, err error) {
	r.nodes = nodes
	type place struct {
		token int64
		node  int
	}
	var all []place
	for i, tokens := range nodes {
		if tokens == "" {
			continue
		}
		for one := range strings.SplitSeq(tokens, ",") {
			t, err := strconv.ParseInt(one, 10, 64)
			if err != nil {
				return r, err
			}
			all = append(all, place{t, i})
		}
	}
	slices.SortFunc(all, func(a, b place) int { return cmp.Compare(a.token, b.token) })
	for _, p := range all {
		r.tokens, r.owners = append(r.tokens, p.token), append(r.owners, p.node)
	}
	return r, nil
}

// owner is the node with the first token not below; after the last, the ring wraps around.
func (r *ring) owner(token int64) int {
	low, high := 0, len(r.tokens)
	for low < high {
		if middle := (low + high) / 2; r.tokens[middle] < token {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == len(r.tokens) {
		low = 0
	}
	return r.owners[low]
}

// node is the one with these tokens, -1 for none.
func (r *ring) node(tokens string) int { return slices.Index(r.nodes, tokens) }

// left reports whether a node is in the ring no more.
func (r *ring) left(node int) bool { return len(r.nodes) > 1 && r.nodes[node] == "" }

// chart is the ring as it is now, since nodes leave it and join it while a load is on.
type chart struct {
	ring  atomic.Pointer[ring]
	moved atomic.Int64 // connections that had to go to another node
}

func newChart(r ring) *chart {
	c := &chart{}
	c.ring.Store(&r)
	return c
}

func (c *chart) now() *ring { return c.ring.Load() }

// instead is the node that a connection goes to which is due at another: one of those
// that stay, in turn, where that has left.
func (c *chart) instead(node int) int {
	r := c.now()
	if !r.left(node) {
		return node
	}
	var stay []int
	for n := range r.nodes {
		if !r.left(n) {
			stay = append(stay, n)
		}
	}
	return stay[int(c.moved.Add(1))%len(stay)]
}
