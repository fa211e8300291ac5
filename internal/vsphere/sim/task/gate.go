package task

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Gate admits calls and operations, or makes them wait while the state of the simulator is
// read.
type Gate struct {
	m       sync.Mutex
	inside  int
	waiting int
	empty   chan struct{} // closed when nobody is inside; nil without a waiter
	open    chan struct{} // closed when the gate opens; nil while it is open
}

// errBusy is returned if a gate does not close in time.
var errBusy = errors.New("calls or operations in progress did not end in time")

type passKey struct{}

// Enter waits for the gate and enters; the returned function leaves, and may be called
// repeatedly. The returned context is for Leave.
func (g *Gate) Enter(ctx context.Context) (context.Context, func()) {
	if ctx.Value(passKey{}) != nil {
		return ctx, func() {} // a call within a call
	}
	leave := sync.OnceFunc(g.leave)
	g.m.Lock()
	open := g.open
	if open == nil {
		g.inside++
	} else {
		g.waiting++
	}
	g.m.Unlock()
	if open != nil {
		select {
		case <-open:
		case <-ctx.Done():
			g.giveUp(open)
			return ctx, func() {}
		}
	}
	return context.WithValue(ctx, passKey{}, leave), leave
}

func (g *Gate) leave() {
	g.m.Lock()
	defer g.m.Unlock()
	if g.inside--; g.inside == 0 && g.empty != nil {
		close(g.empty)
		g.empty = nil
	}
}

// giveUp cancels a wait for the gate to open, which may just have opened.
func (g *Gate) giveUp(open chan struct{}) {
	g.m.Lock()
	waits := g.open == open
	if waits {
		g.waiting--
	}
	g.m.Unlock()
	if !waits {
		g.leave()
	}
}

// Leave makes a call leave the gate early, because it waits and changes nothing.
func Leave(ctx context.Context) {
	if leave, ok := ctx.Value(passKey{}).(func()); ok {
		leave()
	}
}

// Close makes new callers wait, and waits for those inside. If that times out, it fails, and
// the gate is open. Only one caller may close the gate at a time.
func (g *Gate) Close(patience time.Duration) error {
	g.m.Lock()
	g.open = make(chan struct{})
	if g.inside == 0 {
		g.m.Unlock()
		return nil
	}
	empty := make(chan struct{})
	g.empty = empty
	g.m.Unlock()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-empty:
		return nil
	case <-late.C:
		g.Open()
		return errBusy
	}
}

// Open admits callers again. Waiting callers enter before the gate can close again.
func (g *Gate) Open() {
	g.m.Lock()
	defer g.m.Unlock()
	close(g.open)
	g.inside += g.waiting
	g.open, g.empty, g.waiting = nil, nil, 0
}
