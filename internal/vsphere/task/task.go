// Package task waits for tasks of a vCenter: all of them through one collector of changes.
package task

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/session"
)

const (
	secondsOfAWait = 20
	firstPause     = 200 * time.Millisecond
	longestPause   = 10 * time.Second
	cancelGrace    = 20 * time.Second // for a cancelled task to end
	callLimit      = 5 * time.Second
)

// ErrVanished is returned for a task that the vCenter no longer knows, such as after a
// restart. Its outcome must be read from its object.
var ErrVanished = errors.New("the vCenter no longer knows the task")

// reference is short for the identifier of an object of the vCenter.
type reference = types.ManagedObjectReference

// Waiter waits for tasks. It may be used concurrently. Its watch runs while there are tasks.
type Waiter struct {
	client *vim25.Client

	mu      sync.Mutex
	waiting map[reference]*wait
	view    reference   // of the tasks; empty until created
	ended   []reference // tasks in the view that have ended since a task was added
	running bool
}

type wait struct {
	info types.TaskInfo
	ends chan struct{} // closed at the end of the task
	err  error         // set before that
}

// NewWaiter waits for the tasks of a session.
func NewWaiter(s *session.Session) *Waiter {
	return &Waiter{client: s.Client(), waiting: map[reference]*wait{}}
}

// Wait returns when a task has ended: nil, its fault, or ErrVanished. When the context ends,
// the task is cancelled, and has some time to end.
func (w *Waiter) Wait(ctx context.Context, ref types.ManagedObjectReference) (types.TaskInfo, error) {
	t := w.add(ref)
	select {
	case <-t.ends:
		return t.info, t.err
	case <-ctx.Done():
	}
	defer w.forget(ref)
	why := context.Cause(ctx)
	if err := w.cancel(ref); err != nil {
		return types.TaskInfo{}, fmt.Errorf("%w; the task could not be cancelled and goes on: %w", why, err)
	}
	select {
	case <-t.ends:
		if t.err == nil {
			return t.info, nil // it had ended before
		}
		return t.info, fmt.Errorf("%w; the task was cancelled: %w", why, t.err)
	case <-time.After(cancelGrace):
		return types.TaskInfo{}, fmt.Errorf("%w; the task was cancelled, but has not ended after %v", why, cancelGrace)
	}
}

func (w *Waiter) cancel(ref reference) error {
	ctx, done := context.WithTimeout(context.Background(), callLimit)
	defer done()
	_, err := methods.CancelTask(ctx, w.client, &types.CancelTask{This: ref})
	if fault.Is(err, &types.InvalidState{}) || fault.Is(err, &types.ManagedObjectNotFound{}) {
		return nil // it has ended
	}
	return err
}

func (w *Waiter) add(ref reference) *wait {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.waiting[ref]
	if t == nil {
		t = &wait{ends: make(chan struct{})}
		w.waiting[ref] = t
	}
	if !w.running {
		w.running = true
		go w.run()
	} else if w.view.Value != "" {
		go w.extend(w.view, ref)
	}
	return t
}

// extend adds a task to the watched view, and removes those that have ended: it would grow as long as there are tasks,
// and the vCenter goes through all of it. If that fails, the watch fails as well, and the next one includes the task from
// the start.
func (w *Waiter) extend(view, ref reference) {
	w.mu.Lock()
	var ended []reference
	if w.view == view {
		ended, w.ended = w.ended, nil
	}
	w.mu.Unlock()
	ctx, done := context.WithTimeout(context.Background(), callLimit)
	defer done()
	answer, err := methods.ModifyListView(ctx, w.client, &types.ModifyListView{This: view, Add: []reference{ref}, Remove: ended})
	if err == nil && len(answer.Returnval) > 0 {
		w.end(ref, types.TaskInfo{}, ErrVanished)
	}
}

func (w *Waiter) forget(ref reference) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.waiting, ref)
}

func (w *Waiter) end(ref reference, info types.TaskInfo, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t := w.waiting[ref]; t != nil {
		t.info, t.err = info, err
		close(t.ends)
		delete(w.waiting, ref)
		w.ended = append(w.ended, ref)
	}
}

// pending lists the unfinished tasks.
func (w *Waiter) pending() (list []reference) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ref := range w.waiting {
		list = append(list, ref)
	}
	return list
}

// idle stops the waiter if there is no unfinished task.
func (w *Waiter) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running = len(w.waiting) > 0
	return !w.running
}

func (w *Waiter) any() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.waiting) > 0
}

// run watches until no task is unfinished, and restarts after a loss of the connection, with
// growing delays while there is no response.
func (w *Waiter) run() {
	for pause := firstPause; !w.idle(); {
		list := w.pending()
		heard, err := w.watch(list)
		if heard || err == nil {
			pause = firstPause
		}
		if err == nil {
			continue
		}
		if session.Permanent(err) {
			for _, ref := range list {
				w.end(ref, types.TaskInfo{}, err)
			}
		}
		time.Sleep(pause)
		pause = min(2*pause, longestPause)
	}
}
