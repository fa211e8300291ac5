package libvirt

import (
	"context"
	"slices"
	"sync"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/live"
)

// source reads the cluster. All watches share its connections.
type source struct {
	file    *file
	mu      sync.Mutex // guards the fields below
	members []*member
	loads   map[uuid]*load
	cache   policies
	marks   map[string]bool        // hosts in maintenance, as far as known
	waiting map[chan struct{}]bool // watches, woken by events
}

// load is the demand of a VM over time, on any host.
type load struct {
	demand cluster.Demand
	last   counters
	host   string
	id     int
}

// firstSample is the sampling time of demand before the first step.
const firstSample = 2 * time.Second

func newSource(f *file) *source {
	s := &source{file: f, loads: map[uuid]*load{}, waiting: map[chan struct{}]bool{}}
	for i := range f.hosts {
		m := &member{spec: &f.hosts[i]}
		m.wake = s.wake
		s.members = append(s.members, m)
	}
	return s
}

// wake makes the watches read the hosts. It takes no lock that a reader holds.
func (s *source) wake() {
	go func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for c := range s.waiting {
			select {
			case c <- struct{}{}:
			default: // already awake
			}
		}
	}()
}

func (s *source) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.members {
		m.drop()
	}
	return nil
}

// refresh reads all hosts concurrently. The lock is held.
func (s *source) refresh(ctx context.Context) {
	var all sync.WaitGroup
	now := time.Now()
	for _, m := range s.members {
		all.Go(func() { m.read(ctx, s.file, now) })
	}
	all.Wait()
	for _, m := range s.members {
		if m.conn == nil {
			continue
		}
		for id, d := range m.vms {
			if d.active() {
				s.measure(id, d, m)
			}
		}
	}
}

// measure adds the demand of a domain since the last reading.
func (s *source) measure(id uuid, d *domain, m *member) {
	l := s.loads[id]
	if l == nil {
		l = &load{}
		s.loads[id] = l
	}
	c := d.counts
	same := l.host == m.spec.name && l.id == d.ID && l.last.waits == c.waits
	passed, least := c.at.Sub(l.last.at), firstSample/2
	if l.demand.CPU.Count > 0 {
		least = s.file.poll / 2 // events cause additional readings
	}
	if same && passed < least {
		return
	}
	if same {
		ran := c.plain - l.last.plain
		if c.waits {
			ran = c.busy - l.last.busy
		}
		if ran >= 0 {
			l.demand.CPU.Add(min(ran/float64(passed), float64(d.shape.vcpus)) * float64(m.host.MHz))
		}
		if c.used > 0 {
			l.demand.Active.Add(float64(min(c.used, d.shape.memory)))
		}
	}
	if c.resident > 0 {
		l.demand.Consumed = min(c.resident, d.shape.memory)
	}
	if c.dirty > 0 {
		l.demand.Dirty = c.dirty
	}
	l.last, l.host, l.id = c, m.spec.name, d.ID
}

// Watch implements live.Source.
func (s *source) Watch(ctx context.Context, report func(live.Step) error) error {
	woken := make(chan struct{}, 1)
	s.mu.Lock()
	s.waiting[woken] = true
	sampled := len(s.loads) > 0 && slices.ContainsFunc(s.members, func(m *member) bool { return m.conn != nil }) && s.sampled()
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.waiting, woken)
	}()
	if !sampled {
		s.mu.Lock()
		s.refresh(ctx)
		s.mu.Unlock()
		if err := live.Pause(ctx, firstSample); err != nil {
			return err
		}
	}
	w := watch{source: s, clock: time.NewTicker(s.file.poll), woken: woken}
	defer w.clock.Stop()
	return w.run(ctx, report)
}

// sampled reports whether the demand of a VM is known.
func (s *source) sampled() bool {
	for _, l := range s.loads {
		if l.demand.CPU.Count > 0 {
			return true
		}
	}
	return false
}

// watch is one watch.
type watch struct {
	source *source
	clock  *time.Ticker
	woken  chan struct{}
	past   *view
}

// Changes come in bursts: a step waits this long for the rest of a burst.
const burst = 50 * time.Millisecond

func (w *watch) run(ctx context.Context, report func(live.Step) error) error {
	for {
		v, err := w.look(ctx)
		if err != nil {
			return err
		}
		step := live.Step{At: v.at, Cluster: v.cluster}
		if w.past != nil {
			step.Events = w.past.events(v)
		}
		w.past = v
		if err := report(step); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.clock.C:
		case <-w.woken:
			if err := live.Pause(ctx, burst); err != nil {
				return err
			}
		}
	}
}

// settling is the number of additional readings while a VM is between two hosts.
const settling = 10

// look reads the cluster, again while a VM has left its host and does not appear on another
// yet.
func (w *watch) look(ctx context.Context) (*view, error) {
	for i := 0; ; i++ {
		w.source.mu.Lock()
		w.source.refresh(ctx)
		v := w.source.view()
		w.source.mu.Unlock()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if w.past == nil && v.unsure != nil {
			return nil, v.unsure
		}
		if w.past == nil || i == settling || !w.past.between(v) {
			return v, nil
		}
		if err := live.Pause(ctx, 2*burst); err != nil {
			return nil, err
		}
	}
}
