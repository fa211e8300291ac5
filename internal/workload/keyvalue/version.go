package keyvalue

import "sync/atomic"

// stamp identifies the write of a value. The zero stamp is a value of the fill.
type stamp struct {
	version uint32 // of the key, from 1 in each load; it may wrap
	writer  uint32 // load that wrote it
}

// Bounds of the table of versions, at 16 bytes a key: its memory and, where operations are
// pipelined and cost little beside a miss of the CPU's cache, its share of that. Beyond it
// every second, fourth ... key is tracked.
const (
	mostTracked          = 1 << 21
	mostTrackedPipelined = 1 << 12
)

// versions knows of each key what may be read: nothing older than a write that was
// acknowledged before the read was sent.
//
// Writes of a key that are outstanding at once may be done in any order. Those that overlap,
// each with one of the others, are a group; what is read after any of a group was
// acknowledged is at least as new as the first of the group. A write whose answer was lost
// may be done at any time, so that its group never ends.
type versions struct {
	writer uint32
	shift  int // one key of 1<<shift is tracked
	keys   []track
}

// track is the state of a key.
type track struct {
	state atomic.Uint64 // version sent last, how many before it its group began, writes outstanding
	floor atomic.Uint32 // oldest version that may be read
	gone  atomic.Uint32 // 1: that it is not there is known, or no loss
}

const mostLag = 1<<16 - 1 // of a group, and of the writes outstanding

// newVersions is a table of at most that many of the keys.
func newVersions(keys, most int, filled bool, writer uint32) *versions {
	v := &versions{writer: max(1, writer)}
	for (keys-1)>>v.shift >= most {
		v.shift++
	}
	v.keys = make([]track, (keys-1)>>v.shift+1)
	for i := range v.keys {
		if !filled {
			v.keys[i].gone.Store(1)
		}
	}
	return v
}

// track is nil for a key that is not tracked.
func (v *versions) track(key int64) *track {
	if v == nil || key&(1<<v.shift-1) != 0 {
		return nil
	}
	return &v.keys[key>>v.shift]
}

// sent notes that a write is sent. It returns its version, and the one with which its group
// began.
func (t *track) sent() (version, first uint32) {
	for {
		was := t.state.Load()
		version, lag, outstanding := uint32(was>>32)+1, uint32(was>>16&mostLag), uint32(was&mostLag)
		switch {
		case outstanding == 0:
			lag = 0
		case lag < mostLag:
			lag++
		}
		now := uint64(version)<<32 | uint64(lag)<<16 | uint64(min(outstanding+1, mostLag))
		if !t.state.CompareAndSwap(was, now) {
			continue
		}
		if lag == mostLag { // where it began is not known any more
			return version, t.floor.Load()
		}
		return version, version - lag
	}
}

// acknowledged notes that a write of a group was done.
func (t *track) acknowledged(first uint32) {
	for was := t.floor.Load(); int32(first-was) > 0 && !t.floor.CompareAndSwap(was, first); {
		was = t.floor.Load()
	}
	t.gone.Store(0)
	t.over()
}

// refused notes that a write was not done. A store may have removed the value then.
func (t *track) refused() {
	t.gone.Store(1)
	t.over()
}

func (t *track) over() {
	for {
		was := t.state.Load()
		if was&mostLag == mostLag || t.state.CompareAndSwap(was, was-1) { // so many that they were not counted
			return
		}
	}
}

// stale reports whether a value is older than one acknowledged before the read was sent.
func (v *versions) stale(floor uint32, s stamp) bool {
	if s.writer != v.writer {
		return floor != 0
	}
	return int32(s.version-floor) < 0
}

// unknown reports whether a value claims a write that this load never made.
func (v *versions) unknown(t *track, s stamp) bool {
	return s.writer == v.writer && int32(s.version-uint32(t.state.Load()>>32)) > 0
}

// missing says that a key is not there for the first time since it was written. While a
// write is outstanding nothing is said: a store that refuses it may have removed the value.
func (t *track) missing() bool {
	return t.gone.Load() == 0 && t.state.Load()&mostLag == 0 && t.gone.CompareAndSwap(0, 1)
}
