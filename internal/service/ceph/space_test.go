package ceph

import "testing"

// What is added while a pool grows is its share, whichever others grew before and in between.
func TestSharesOfPools(t *testing.T) {
	var s shares
	at := func(stored, allocated float64) space { return space{stored, allocated} }
	s.turn("a", at(1, 4)) // of the cluster itself
	for i, step := range []struct {
		turn string // to another pool before
		all  space
		want space
	}{
		{"", at(1, 4), at(0, 0)},
		{"", at(101, 204), at(100, 200)},
		{"b", at(101, 204), at(0, 0)},
		{"", at(131, 219), at(30, 15)},
		{"a", at(131, 219), at(100, 200)},
		{"", at(121, 199), at(90, 180)}, // an image was removed
		{"b", at(121, 199), at(30, 15)},
		{"b", at(122, 200), at(31, 16)},
		{"c", at(122, 200), at(0, 0)},
	} {
		if step.turn != "" {
			s.turn(step.turn, step.all)
		}
		if got := s.of(step.all); got != step.want {
			t.Errorf("step %d: got %v, want %v", i+1, got, step.want)
		}
	}
}

// The space of a pool of a cluster that the user provides is what its manager counts, with all copies.
func TestSpaceOfAPool(t *testing.T) {
	const df = `{"pools":[{"name":"rbd","stats":{"stored":33554468,"bytes_used":67125248,"stored_raw":67108936}},{"name":"empty","stats":{"stored":0,"bytes_used":0,"stored_raw":0}}]}`
	for pool, want := range map[string]space{"rbd": {67108936, 67125248}, "empty": {}, "lake": {}} {
		if is, ok := poolSpace([]byte(df), pool); is != want || ok != (want.stored > 0) {
			t.Errorf("%s: got %v, %v", pool, is, ok)
		}
	}
	if _, ok := poolSpace(nil, "rbd"); ok {
		t.Error("no answer is taken for one")
	}
}
