// Package protection keeps a standby for a running guest: a QEMU that takes over at the last checkpoint when that of the guest ends or does not
// answer. What the guest sends and writes after a checkpoint is buffered until the next one, so that nobody sees what is lost.
package protection

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"plimsoll/internal/guest/diskserver"
	"plimsoll/internal/guest/outpost"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/guest/relay"
	"plimsoll/internal/guest/vswitch"
)

// Guest is a guest to protect, with all that leaves it.
type Guest struct {
	Every   time.Duration // for which the guest runs between two checkpoints
	QEMU    *qemu.Guest
	Other   *outpost.Host // has the standby while the guest is on this host; nil: this host has it
	Channel *relay.Guarded
	Plug    *vswitch.Plug      // nil without a network
	Disk    *diskserver.Server // with epochs; nil without a disk to write
	// Moved is told that the guest is in another QEMU, before the former one is stopped.
	Moved func(ctx context.Context, now *qemu.Guest) error
}

// Costs are those of all checkpoints so far. Sums are of as many checkpoints as there were.
type Costs struct {
	Checkpoints int
	Pause       time.Duration // sum of the times for which the guest was stopped
	Held        time.Duration // sum of the times from a stop until what was buffered had gone
	Pages       int64         // that had changed
	State       int64         // bytes of the state of devices
	Failovers   int
	Failure     string // why the last attempt to protect the guest failed; empty while it is protected
}

const (
	// mostCheckpoint is how long QEMU may take for a checkpoint.
	mostCheckpoint = 3 * time.Second
	// again is the time until another standby is tried.
	again = time.Second
	// mostFailover is how long a standby may take to take over.
	mostFailover = 20 * time.Second
)

// Protection is the protection of a guest. Its methods may be called concurrently.
type Protection struct {
	guest Guest
	stop  context.CancelFunc
	done  chan struct{}

	mu      sync.Mutex
	costs   Costs
	current *qemu.Guest
	pair    *qemu.Protected // nil while there is no standby
	moved   chan struct{}   // closed when current changes, or err is set
	err     error           // the guest is lost
}

// Begin starts a standby and takes the first checkpoint. Others follow until End.
func Begin(ctx context.Context, g Guest) (*Protection, error) {
	p := &Protection{guest: g, current: g.QEMU, moved: make(chan struct{}), done: make(chan struct{})}
	if err := p.protect(ctx); err != nil {
		return nil, err
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.stop = stop
	go func() {
		defer close(p.done)
		p.run(life)
	}()
	return p, nil
}

// Err is nil as long as the guest runs, or is about to go on at its standby.
func (p *Protection) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// After is closed once the guest is no longer in that QEMU.
func (p *Protection) After(g *qemu.Guest) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == g {
		return p.moved
	}
	over := make(chan struct{})
	close(over)
	return over
}

// String says how the guest is protected.
func (p *Protection) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pair == nil {
		return "none now: " + p.costs.Failure
	}
	found := "comparison"
	if p.pair.Tracked() {
		found = "soft-dirty bits"
	}
	text := fmt.Sprintf("checkpoints each %s, changed pages by %s", p.guest.Every, found)
	if far := p.pair.Standby().Far(); far != nil {
		text += ", to host " + far.Host().Machine.Name()
	}
	if far := p.current.Far(); far != nil {
		text += ", from host " + far.Host().Machine.Name()
	}
	return text
}

// Standby is nil while there is none.
func (p *Protection) Standby() *qemu.Guest {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pair == nil {
		return nil
	}
	return p.pair.Standby()
}

// Costs are the costs so far.
func (p *Protection) Costs() Costs {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.costs
}

// End ends the protection. The guest goes on.
func (p *Protection) End(ctx context.Context) error {
	p.stop()
	<-p.done
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unprotect(ctx)
}

// run takes checkpoints, and does what the end of a QEMU demands.
func (p *Protection) run(ctx context.Context) {
	next := time.Now().Add(p.guest.Every)
	for ctx.Err() == nil && p.Err() == nil {
		p.mu.Lock()
		pair, current := p.pair, p.current
		p.mu.Unlock()
		if pair == nil {
			p.renew(ctx, current)
			continue
		}
		due, timer := false, time.NewTimer(time.Until(next))
		select {
		case <-timer.C:
			due = true
		case <-ctx.Done():
		case <-current.Ended():
			p.failover(ctx)
		case <-pair.Standby().Ended():
			p.forsaken(ctx, errors.New("the standby has ended"))
		}
		if timer.Stop(); !due {
			continue
		}
		c, err := p.checkpoint(ctx, pair)
		if next = time.Now().Add(p.guest.Every); err == nil {
			next = next.Add(c.Pause - c.Held) // it runs while a checkpoint is committed
		} else if ctx.Err() == nil && pair.Standby().Err() == nil && !pair.Answers(ctx) {
			p.failover(ctx) // before the lab misses signs of life of the agent
		}
	}
}

// renew protects a guest that has no standby. After a failure it waits until it is time for another attempt, or the guest ends.
func (p *Protection) renew(ctx context.Context, current *qemu.Guest) {
	if p.protect(ctx) == nil || ctx.Err() != nil {
		return
	}
	timer := time.NewTimer(again)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-current.Ended():
		p.lost(current.Err())
	}
}

// protect starts a standby, and takes the first checkpoint.
func (p *Protection) protect(ctx context.Context) error {
	p.mu.Lock()
	current := p.current
	p.mu.Unlock()
	if p.guest.Plug != nil {
		p.guest.Plug.Second()
	}
	on := p.guest.Other
	if current.Far() != nil {
		on = nil
	}
	pair, c, err := qemu.Protect(ctx, current, on, p.guest.gates(current)...)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.costs.Failure = err.Error()
		return errors.Join(err, p.unprotect(ctx))
	}
	p.pair, p.costs.Failure = pair, ""
	p.count(c)
	return nil
}

// checkpoint takes a checkpoint.
func (p *Protection) checkpoint(ctx context.Context, pair *qemu.Protected) (c qemu.Checkpoint, err error) {
	limit, cancel := context.WithTimeout(ctx, mostCheckpoint)
	defer cancel()
	if c, err = pair.Checkpoint(limit); err != nil {
		return c, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count(c)
	return c, nil
}

func (p *Protection) count(c qemu.Checkpoint) {
	k := &p.costs
	k.Checkpoints++
	k.Pause, k.Held = k.Pause+c.Pause, k.Held+c.Held
	k.Pages, k.State = k.Pages+int64(c.Pages), k.State+int64(c.State)
}

// forsaken has a guest go on without protection.
func (p *Protection) forsaken(ctx context.Context, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.costs.Failure = why.Error()
	if err := p.unprotect(ctx); err != nil {
		p.costs.Failure = errors.Join(why, err).Error()
	}
}

// unprotect ends the standby, if there is one, and lets go what is buffered.
func (p *Protection) unprotect(ctx context.Context) (err error) {
	ctx = context.WithoutCancel(ctx)
	if p.pair != nil {
		err = p.pair.End(ctx)
		p.pair = nil
	}
	return errors.Join(err, p.guest.pass())
}

// failover has the standby take over.
func (p *Protection) failover(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), mostFailover)
	defer cancel()
	p.mu.Lock()
	pair, former := p.pair, p.current
	p.pair = nil
	p.mu.Unlock()
	next, err := p.takeOver(ctx, pair)
	if err != nil {
		p.lost(fmt.Errorf("guest %s has ended, and its standby did not take over: %w", former.Name(), errors.Join(err, pair.End(ctx))))
		return
	}
	p.mu.Lock()
	p.current = next
	p.costs.Failovers++
	moved := p.moved
	p.moved = make(chan struct{})
	p.mu.Unlock()
	err = errors.Join(p.guest.Moved(ctx, next), former.Stop(ctx))
	close(moved)
	if err != nil {
		p.mu.Lock()
		p.costs.Failure = err.Error()
		p.mu.Unlock()
	}
}

// takeOver has the guest go on in its standby, after what it had not committed is forgotten.
func (p *Protection) takeOver(ctx context.Context, pair *qemu.Protected) (*qemu.Guest, error) {
	pair.Fence()
	g := p.guest
	if err := g.forget(ctx); err != nil {
		return nil, err
	}
	channel, err := pair.Standby().Channel(ctx) // it must be open before the guest goes on, or its agent finds it closed
	if err != nil {
		return nil, err
	}
	next, err := pair.Failover(ctx)
	if err != nil {
		return nil, errors.Join(err, channel.Close())
	}
	if err := errors.Join(g.Channel.Switch(channel), g.pass()); err != nil {
		return nil, errors.Join(err, next.Stop(ctx))
	}
	return next, nil
}

// lost ends the protection of a guest that has ended.
func (p *Protection) lost(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err, p.pair = err, nil
	close(p.moved)
	_ = p.guest.Channel.Close()
}
