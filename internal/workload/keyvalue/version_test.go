package keyvalue

import (
	"testing"
	"unsafe"
)

// What may be read follows from what was acknowledged before, whatever overlaps.
func TestVersions(t *testing.T) {
	v := newVersions(1, 10, true, 9)
	k := v.track(0)
	if (*versions)(nil).track(0) != nil {
		t.Error("a key is tracked without a table")
	}
	if v.stale(k.floor.Load(), stamp{}) || v.stale(k.floor.Load(), stamp{3, 4}) {
		t.Error("what was there before the load may not be read")
	}
	own := func(version uint32) stamp { return stamp{version, 9} }
	one, first := k.sent()
	before := k.floor.Load()
	k.acknowledged(first)
	if one != 1 || !v.stale(k.floor.Load(), stamp{}) || !v.stale(k.floor.Load(), stamp{3, 4}) || v.stale(k.floor.Load(), own(1)) || v.stale(before, stamp{}) {
		t.Errorf("after a write %d, of group %d, floor %d", one, first, k.floor.Load())
	}
	if !v.unknown(k, own(2)) || v.unknown(k, own(1)) || v.unknown(k, stamp{7, 7}) {
		t.Error("a version that was not written yet")
	}
	// Two that overlap may be done in any order: either may stay.
	_, a := k.sent()
	_, b := k.sent()
	k.acknowledged(b)
	if f := k.floor.Load(); a != 2 || b != 2 || v.stale(f, own(2)) || v.stale(f, own(3)) || !v.stale(f, own(1)) {
		t.Errorf("groups %d and %d, floor %d", a, b, f)
	}
	k.acknowledged(a)
	_, c := k.sent()
	k.acknowledged(c)
	if f := k.floor.Load(); c != 4 || f != 4 {
		t.Errorf("after both, group %d, floor %d", c, f)
	}
	// One whose answer is lost may be done later than others.
	_, d := k.sent()
	for range 3 {
		_, e := k.sent()
		k.acknowledged(e)
	}
	if f := k.floor.Load(); d != 5 || f != 5 {
		t.Errorf("beside a lost answer, group %d, floor %d", d, f)
	}
}

// Where there are more keys than may be tracked, those that are have each a place.
func TestTrackedKeys(t *testing.T) {
	for keys := int64(1); keys < 300; keys++ {
		v := newVersions(int(keys), 16, true, 9)
		seen := map[*track]bool{}
		for key := range keys {
			if k := v.track(key); k != nil {
				seen[k] = true
				k.floor.Store(1)
			}
		}
		if len(seen) > 16 || len(seen) != len(v.keys) || len(seen) < int(min(keys, 9)) || len(v.written(100)) != len(seen) {
			t.Fatalf("of %d keys %d are tracked, in a table of %d", keys, len(seen), len(v.keys))
		}
		for _, key := range v.written(100) {
			if key >= keys || v.track(key) == nil {
				t.Fatalf("key %d of %d is not tracked", key, keys)
			}
		}
	}
}

// So many writes at once that they cannot be counted let anything of that time pass.
func TestVersionsOfACrowd(t *testing.T) {
	v := newVersions(1, 10, true, 9)
	k := v.track(0)
	for range 10 * mostLag {
		k.sent()
	}
	_, first := k.sent()
	for range 10 * mostLag {
		k.acknowledged(first)
	}
	if f := k.floor.Load(); f != 0 {
		t.Errorf("the floor is %d", f)
	}
}

func TestVersionsWrap(t *testing.T) {
	v := newVersions(1, 10, true, 9)
	k := v.track(0)
	k.state.Store(uint64(1<<32-2) << 32)
	k.floor.Store(1<<32 - 2)
	for range 4 {
		_, first := k.sent()
		k.acknowledged(first)
	}
	if f := k.floor.Load(); f != 2 || !v.stale(f, stamp{1<<32 - 1, 9}) || v.stale(f, stamp{2, 9}) || v.unknown(k, stamp{2, 9}) {
		t.Errorf("the floor is %d", f)
	}
}

// A key is missing once for each time that it was written.
func TestMissing(t *testing.T) {
	v := newVersions(1, 10, false, 9)
	k := v.track(0)
	if k.missing() {
		t.Error("what was never written is missing")
	}
	_, first := k.sent()
	k.acknowledged(first)
	k.sent()
	if k.missing() {
		t.Error("missing while a write is outstanding")
	}
	k.refused()
	if k.missing() {
		t.Error("missing after a write was refused")
	}
	_, first = k.sent()
	k.acknowledged(first)
	if !k.missing() || k.missing() {
		t.Error("not missing once")
	}
}

func TestTrackIsSmall(t *testing.T) {
	if n := unsafe.Sizeof(track{}); n != 16 {
		t.Errorf("%d bytes a key", n)
	}
}
