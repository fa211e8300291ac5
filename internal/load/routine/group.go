package routine

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"plimsoll/internal/load/pace"
	"plimsoll/internal/load/tally"
)

// group corresponds to a measuring thread. Its lock guards its dialogues and its sheet.
type group struct {
	*engine
	clock pace.Clock
	index int
	work  chan offer     // operations of an open loop, for idle users
	over  chan struct{}  // closed when the stage ends: no operation starts any more
	busy  sync.WaitGroup // users, and who hands them work

	mu      sync.Mutex
	sheet   *tally.Sheet
	clients []client
	numbers int // of the next connection
	rng     *rand.Rand
	under   int  // operations in flight
	usable  int  // clients that can take or perform an operation
	down    int  // connections without a peer
	closed  bool // the sheet was closed: nothing is counted any more

	full      bool          // an operation that was due found no free slot
	fullUntil time.Duration // when the last such time ended
}

// client performs the operations of its users and counts them in its group.
type client interface {
	// begin makes its goroutines, if it has any, when the stage begins.
	begin(ctx context.Context)
	// ready reports whether an operation could start. If not, wait for the channel and call it
	// again.
	ready() (now bool, change <-chan struct{})
	// perform performs one operation, and reports whether it had a response.
	perform(ctx context.Context, u *user, o offer) (answered bool)
	close()
}

func newGroup(e *engine, index int) *group {
	return &group{
		engine: e, index: index, numbers: index, sheet: e.book.Sheet(),
		work: make(chan offer), over: make(chan struct{}), fullUntil: -1,
		rng: rand.New(rand.NewPCG(e.job.Stage.Seed, uint64(index)+0x726f7574)),
	}
}

// number is the number of a new connection. The lock is held.
func (d *group) number() int {
	n := d.numbers
	d.numbers += d.job.Threads
	return n
}

// connect adds one client. Clients are assigned to the addresses round robin.
func (d *group) connect(ctx context.Context, number int) error {
	var c client
	var to *dialer
	if n := len(d.dialers); n > 0 {
		to = d.dialers[number%n]
	}
	switch {
	case d.job.Caller != nil:
		owned, err := newCaller(ctx, d)
		if err != nil {
			return err
		}
		c = owned
	case d.job.Fresh:
		c = &fresh{group: d, home: to.number, dialer: to}
	default:
		s := newSession(d, to)
		conn, err := to.dial(ctx)
		if err != nil {
			return err
		}
		d.mu.Lock()
		s.attach(ctx, conn)
		d.mu.Unlock()
		c = s
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clients = append(d.clients, c)
	if _, counts := c.(*session); !counts { // a session counts itself
		d.usable++
	}
	return nil
}

// open begins the stage.
func (d *group) open(ctx context.Context, clock pace.Clock) {
	d.clock = clock
	for _, c := range d.clients {
		c.begin(ctx)
	}
	for range d.job.Window {
		for _, c := range d.clients {
			u := newUser(d, c)
			d.busy.Go(func() { u.live(ctx) })
		}
	}
	if d.job.Open() {
		d.busy.Go(func() { d.dispatch(ctx) })
	}
	d.running.Go(func() { d.attend(ctx) })
}

// attend closes intervals until all users are done or the load must end, and closes the sheet.
func (d *group) attend(ctx context.Context) {
	const mostWait = 50 * time.Millisecond
	done := make(chan struct{})
	d.running.Go(func() {
		d.busy.Wait()
		close(done)
	})
	length, over := d.job.Stage.Length, false
	end := length + d.job.Timeout + lastWait
	timer := time.NewTimer(0)
	defer timer.Stop()
	for now, meant, all := time.Duration(0), time.Duration(0), false; !all; {
		d.mu.Lock()
		more := d.sheet.Look(now, meant)
		d.mu.Unlock()
		if !over && now >= length {
			over = true
			close(d.over)
		}
		if !more || now >= end {
			break
		}
		meant = min((now/d.job.Stage.Interval+1)*d.job.Stage.Interval, now+mostWait)
		if !over {
			meant = min(meant, length)
		}
		timer.Reset(meant - d.clock.Now())
		select {
		case <-timer.C:
		case <-done:
			all = true
		case <-ctx.Done():
			all = true
		}
		now = d.clock.Now()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.sheet.Close(d.under)
}

// leave closes the clients.
func (d *group) leave() {
	for _, c := range d.clients {
		c.close()
	}
}

// start counts an operation that starts now, and returns the times. The lock is held, here and
// below.
func (d *group) start(o offer) (due, now time.Duration) {
	now = d.clock.Now()
	due = o.due
	if !d.job.Open() {
		due = now
	}
	d.under++
	if !d.closed {
		d.sheet.Start(due, now, o.blocked || d.blocked(due))
	}
	return due, now
}

func (d *group) slots() int { return d.usable * d.job.Window }

// blocked reports whether an operation found no free slot when it was due.
func (d *group) blocked(due time.Duration) bool { return d.full || due <= d.fullUntil }

func (d *group) ended(now time.Duration) {
	d.under--
	d.freed(now)
}

// freed checks whether slots are free again.
func (d *group) freed(now time.Duration) {
	if d.full && d.under < d.slots() {
		d.full, d.fullUntil = false, now
	}
}

func (d *group) done(o tally.Operation, now time.Duration) {
	d.ended(now)
	if !d.closed {
		d.sheet.Done(o, now)
	}
}

// finish counts a completed operation.
func (d *group) finish(o tally.Operation, failed bool, now time.Duration) {
	if failed {
		d.fail(o.Class)
		return
	}
	d.done(o, now)
}

func (d *group) fail(class int) {
	d.ended(d.clock.Now())
	if !d.closed {
		d.sheet.Fail(class)
	}
}

func (d *group) timeOut(class int) {
	d.ended(d.clock.Now())
	if !d.closed {
		d.sheet.TimeOut(class)
	}
}

// abandon counts an operation that was due and never starts.
func (d *group) abandon(due time.Duration) {
	if !d.closed {
		d.sheet.Abandon(d.blocked(due))
	}
}

func (d *group) note(err error) {
	if !d.closed {
		d.sheet.Note(err)
	}
}
