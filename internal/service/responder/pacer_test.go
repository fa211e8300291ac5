package responder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/load/loadtest"
)

func pacing(t *testing.T) *pacer {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	p, err := newPacer(ctx, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		<-p.gone
		p.at(0, func() {}) // has no effect
	})
	return p
}

func TestAppointmentsAreKeptInOrderAndNeverEarly(t *testing.T) {
	p := pacing(t)
	loadtest.Calm(t, func() error {
		late, plain := appointments(t, p)
		if late > 2*time.Millisecond && late > 2*plain {
			return fmt.Errorf("half of them are more than %s late, and timers of Go %s", late, plain)
		}
		return nil
	})
}

// appointments checks that calls are in order and not early. It returns the median lateness of
// calls and of plain timers.
func appointments(t *testing.T, p *pacer) (half, plain time.Duration) {
	t.Helper()
	const n, notice = 200, 100 * time.Millisecond
	var mu sync.Mutex
	var order []int
	var late, timers []time.Duration
	var all sync.WaitGroup
	all.Add(2 * n)
	start := p.now() + notice
	for i := range n {
		due := start + time.Duration((i*7919)%n)*500*time.Microsecond
		p.at(due, func() {
			mu.Lock()
			order, late = append(order, (i*7919)%n), append(late, p.now()-due)
			mu.Unlock()
			all.Done()
		})
		time.AfterFunc(due-p.now(), func() {
			mu.Lock()
			timers = append(timers, p.now()-due)
			mu.Unlock()
			all.Done()
		})
	}
	if p.now() > start { // some may have been due before others were set
		all.Wait()
		return notice, 0
	}
	all.Wait()
	if !slices.IsSorted(order) {
		t.Errorf("kept in the order %v", order)
	}
	slices.Sort(late)
	if late[0] < 0 {
		t.Errorf("one was %s early", -late[0])
	}
	slices.Sort(timers)
	return late[n/2], timers[n/2]
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	p := pacing(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if err := p.wait(ctx, p.now()+time.Hour); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	due := p.now() + 3*time.Millisecond
	if err := p.wait(t.Context(), due); err != nil || p.now() < due {
		t.Errorf("it waited until %s for %s: %v", p.now(), due, err)
	}
}
