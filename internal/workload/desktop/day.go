package desktop

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/workload/desktop/rule"
	"plimsoll/internal/workload/desktop/session"
)

// day is a load: the people of its sessions, and what they have done.
type day struct {
	of       *desktop
	building *building
	known    *reference
	seed     uint64
	ctx      context.Context // of the load
	cancel   context.CancelCauseFunc
	doors    chan struct{} // one for each session that may log on at the same time
	busy     sync.WaitGroup
	kills    int64 // by the kernel for lack of memory, before the load
	before   map[string]time.Duration

	mu      sync.Mutex
	closed  bool
	began   time.Time // when the first operation could start
	people  []*person
	active  int
	pending []float64 // responses of loops since the last interval
	samples []rule.Sample
	periods []time.Duration // of loops
	done    []done
	logons  []float64
	stuck   map[int]bool // sessions
	lost    []int
	wrong   error // the first wrong result
	starved bool  // of memory
	grouped int   // sessions with a control group
}

// done is an operation that has ended.
type done struct {
	at      time.Duration // since the load began
	class   int
	seconds float64
}

func newDay(d *desktop, b *building, known *reference) *day {
	return &day{of: d, building: b, known: known, doors: make(chan struct{}, d.LogOns), stuck: map[int]bool{}, kills: memoryKills(), before: pressures()}
}

// hire makes the person of a session, who logs on at once unless sessions join one by one.
func (w *day) hire(ctx context.Context, number int) (load.Caller, error) {
	p := &person{day: w, number: number + 1, rng: rand.New(rand.NewPCG(w.seed, uint64(number)+0x6465736b)), times: make([]float64, len(w.of.loop))}
	p.next = p.rng.IntN(len(w.of.loop)) // not all do the same at the beginning
	w.mu.Lock()
	w.people = append(w.people, p)
	w.mu.Unlock()
	if w.of.Ramp > 0 {
		return p, nil
	}
	return p, p.logOn(ctx)
}

// person works at a session.
type person struct {
	day     *day
	number  int
	place   *place // nil before the person has logged on
	rng     *rand.Rand
	next    int       // operation
	count   int       // operations of this loop
	times   []float64 // of them, s
	started time.Time // this loop
	joined  bool
	gone    bool          // the session is lost
	used    time.Duration // CPU time of the log-on, and of sessions that were stuck
	total   time.Duration // CPU time of those
	memory  int64
}

// logOn waits for its turn and logs on.
func (p *person) logOn(ctx context.Context) error {
	w := p.day
	if !w.enter() {
		return context.Cause(w.ctx)
	}
	defer w.busy.Done()
	select {
	case w.doors <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-w.doors }()
	at, err := w.building.enter(ctx, p.number)
	if err != nil {
		return err
	}
	p.used += at.session.CPU()
	w.mu.Lock()
	defer w.mu.Unlock()
	p.place, p.joined = at, true
	w.active++
	w.logons = append(w.logons, at.loggedOn.Seconds())
	if at.session.Grouped() {
		w.grouped++
	}
	return nil
}

// Join waits for the instant at which the session joins.
func (p *person) Join(ctx context.Context) error {
	w := p.day
	due := w.begin().Add(time.Duration(p.number-1) * time.Duration(w.of.Ramp))
	if p.place != nil {
		return nil
	}
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return p.logOn(ctx)
}

// begin is when the load began.
func (w *day) begin() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.began.IsZero() {
		w.began = time.Now()
	}
	return w.began
}

// enter counts a person in who does something; false once the load is over.
func (w *day) enter() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.busy.Add(1)
	return true
}

// Call does the next operation.
func (p *person) Call(ctx context.Context) (class int, bytes int64, err error) {
	w := p.day
	class = p.next
	if !w.enter() {
		return class, 0, context.Cause(w.ctx)
	}
	defer w.busy.Done()
	if p.gone {
		<-ctx.Done() // a session that is lost does nothing more
		return class, 0, session.ErrLost
	}
	p.next = (p.next + 1) % len(w.of.loop)
	if p.count == 0 {
		p.started = time.Now()
	}
	took, err := w.of.repeat(ctx, p.place, w.of.loop[class], w.known.repeats[class])
	switch {
	case w.ctx.Err() != nil:
		return class, 0, context.Cause(w.ctx)
	case errors.Is(err, session.ErrLost):
		p.lose()
	case errors.Is(err, context.DeadlineExceeded):
		p.finish(class, max(took, timeout(w.of)))
		p.again()
	case errors.Is(err, context.Canceled):
	case err != nil:
		err = w.fail(err)
		p.count = 0 // no loop without a wrong result
	default:
		p.finish(class, took)
	}
	return class, 0, err
}

// Close does nothing: the session ends with the load.
func (p *person) Close() error { return nil }

func timeout(d *desktop) time.Duration { return time.Duration(d.Timeout) }

// finish adds an operation, and the loop that is complete with it.
func (p *person) finish(class int, took time.Duration) {
	w := p.day
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = append(w.done, done{now.Sub(w.began), class, took.Seconds()})
	p.times[class] = took.Seconds()
	if p.count++; p.count < len(w.of.loop) {
		return
	}
	p.count = 0
	response := w.known.response(p.times)
	w.pending = append(w.pending, response)
	w.samples = append(w.samples, rule.Sample{Sessions: w.active, Response: response})
	w.periods = append(w.periods, now.Sub(p.started))
}

// lose records that others killed the session.
func (p *person) lose() {
	w := p.day
	w.mu.Lock()
	defer w.mu.Unlock()
	p.gone = true
	w.active--
	w.lost = append(w.lost, p.number)
	w.starved = w.starved || memoryKills() > w.kills
}

// again logs on anew after an operation that was stuck: programs that were killed leave locks in their profiles.
func (p *person) again() {
	w := p.day
	w.mu.Lock()
	w.stuck[p.number] = true
	w.active--
	w.mu.Unlock()
	p.retire()
	if err := p.logOn(w.ctx); err != nil && w.ctx.Err() == nil {
		w.cancel(err)
	}
}

// retire ends the session of a person.
func (p *person) retire() {
	if p.place == nil {
		return
	}
	p.total += p.place.session.CPU()
	p.memory = max(p.memory, p.place.session.Memory())
	p.place.leave()
	p.place = nil
}

// fail is the error of an operation, with what is known of its cause.
func (w *day) fail(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if memoryKills() > w.kills {
		w.starved = true
		return fmt.Errorf("%w: %w", errMemory, err)
	}
	if wrong := (*wrongError)(nil); w.wrong == nil && errors.As(err, &wrong) {
		w.wrong = wrong
	}
	return err
}

// close ends all sessions, once.
func (w *day) close() {
	w.mu.Lock()
	was := w.closed
	w.closed = true
	w.mu.Unlock()
	if was {
		return
	}
	w.cancel(context.Canceled)
	w.busy.Wait()
	var all sync.WaitGroup
	for _, p := range w.people {
		all.Go(p.retire)
	}
	all.Wait()
}

// amend adds the responses of loops to an interval.
func (w *day) amend(in *measure.Interval) {
	w.mu.Lock()
	pending := slices.Clone(w.pending)
	w.pending = w.pending[:0]
	w.mu.Unlock()
	if len(pending) == 0 {
		return
	}
	h := measure.NewHistogram()
	for _, response := range pending {
		h.Record(time.Duration(response*1e9), 1)
	}
	in.Times = map[string]*measure.Histogram{"loop": h}
}
