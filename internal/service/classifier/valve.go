package classifier

import "sync"

// valve lets connections read while few images wait. It closes when there are many, and opens when
// few are left: images that come meanwhile are then read together, at the cost of one wake-up.
type valve struct {
	few, many int
	waiting   func() int // images that wait

	mu    sync.Mutex
	shut  bool
	ended bool
	open  sync.Cond
}

func newValve(few, many int, waiting func() int) *valve {
	v := &valve{few: few, many: many, waiting: waiting}
	v.open.L = &v.mu
	return v
}

// pass returns when a connection may read.
func (v *valve) pass() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shut = v.shut || v.waiting() >= v.many
	for v.shut && !v.ended {
		v.open.Wait()
	}
}

// taken tells that one image waits no longer. Each that is taken must be told, or it never opens.
func (v *valve) taken() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.shut && v.waiting() <= v.few {
		v.shut = false
		v.open.Broadcast()
	}
}

// end lets all pass from now on.
func (v *valve) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ended = true
	v.open.Broadcast()
}
