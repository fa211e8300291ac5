package ceph

import (
	"context"
	"sync"

	"plimsoll/internal/service/ceph/counter"
)

// space is what data takes in all OSDs, in bytes.
type space struct{ stored, allocated float64 }

func (s space) add(t space, sign float64) space {
	return space{max(0, s.stored+sign*t.stored), max(0, s.allocated+sign*t.allocated)}
}

// shares are the shares of pools in the space. OSDs of Ceph 16 count the space of all pools together, and of these only one grows at a time:
// that of the images of the present arm.
type shares struct {
	mu    sync.Mutex
	pool  string           // that grows
	since space            // of all pools when it began to
	held  map[string]space // by each pool, until others began to grow
}

// turn has another pool grow from now on.
func (s *shares) turn(pool string, all space) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		s.held = map[string]space{}
	} else {
		s.held[s.pool] = s.share(all)
	}
	s.pool, s.since = pool, all
}

// of is the share of the pool that grows in the space of all.
func (s *shares) of(all space) space {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.share(all)
}

func (s *shares) share(all space) space { return s.held[s.pool].add(all, 1).add(s.since, -1) }

// space is the space of all pools.
func (d *daemons) space(ctx context.Context) (all space, err error) {
	for n := range d.osds {
		var counters counter.Dump
		if err := d.ask(ctx, osd(n), "perf dump", &counters); err != nil {
			return all, err
		}
		of := counters["bluestore"]
		all = all.add(space{of["bluestore_stored"].Count, of["bluestore_allocated"].Count}, 1)
	}
	return all, nil
}
