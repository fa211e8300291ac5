package task

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Gate lets calls and operations pass, or has them wait while the state of the simulator is read.
type Gate struct {
	m       sync.Mutex
	inside  int
	waiting int
	empty   chan struct{} // closed when nobody is inside; nil unless somebody waits for that
	open    chan struct{} // closed when the gate opens; nil while it is open
}

// errBusy is why a gate did not close.
var errBusy = errors.New("calls or operations that were begun did not end in time")

type passKey struct{}

// Enter passes the gate; the function leaves it, and may be called again. The context of a call tells Leave of it.
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

// giveUp ends a wait for the gate to open, which may just have happened.
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

// Leave has a call leave the gate early, because it waits and changes nothing.
func Leave(ctx context.Context) {
	if leave, ok := ctx.Value(passKey{}).(func()); ok {
		leave()
	}
}

// Close has all wait who come, and waits for those who are inside. It fails, and the gate is open, if that takes
// longer than a time. Only one may close the gate at a time.
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

// Open lets all pass again. Those who wait are inside before the gate can close again.
func (g *Gate) Open() {
	g.m.Lock()
	defer g.m.Unlock()
	close(g.open)
	g.inside += g.waiting
	g.open, g.empty, g.waiting = nil, nil, 0
}
