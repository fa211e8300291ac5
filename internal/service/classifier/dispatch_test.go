package classifier

import (
	"slices"
	"testing"
	"time"
)

// heldEngine answers a frame for each value of release.
type heldEngine struct {
	usage
	deep    int
	sizes   chan int // of frames, when they are submitted
	release chan struct{}
}

func (e *heldEngine) depth(int) int { return e.deep }
func (e *heldEngine) close()        {}

func (e *heldEngine) submit(frame []*job) error {
	e.sizes <- len(frame)
	return nil
}

func (e *heldEngine) collect([]*job) error {
	<-e.release
	return nil
}

// dispatching has engines take from a queue, in which some images wait, and returns how more get into it.
func dispatching(t *testing.T, batch, waiting int, engines ...*heldEngine) (put func()) {
	t.Helper()
	s := &server{order: order{Batch: batch, Threads: len(engines)}, over: make(chan struct{}), queue: make(chan *job, 64)}
	s.valve = newValve(4, 8, func() int { return len(s.queue) })
	for _, e := range engines {
		s.engines = append(s.engines, e)
	}
	put = func() { s.queue <- &job{done: make(chan struct{}, 1)} }
	for range waiting {
		put()
	}
	s.work.Go(s.dispatch)
	t.Cleanup(func() {
		s.stop(nil)
		for _, e := range engines {
			close(e.release)
		}
		s.work.Wait()
	})
	return put
}

func held(deep int) *heldEngine {
	return &heldEngine{deep: deep, sizes: make(chan int, 64), release: make(chan struct{}, 64)}
}

func (e *heldEngine) next(t *testing.T) int {
	t.Helper()
	select {
	case n := <-e.sizes:
		return n
	case <-time.After(10 * time.Second):
		t.Fatal("no frame is submitted")
		return 0
	}
}

// The sizes of frames follow from what waits: one image while few do, more for an engine that takes
// frames ahead when many do, and never part of a batch for one that computes.
func TestFrames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                 string
		batch, deep, waiting int
		ahead                int   // frames that the engine gets before it answers
		want                 []int // sizes of frames
	}{
		{"few wait", 1, 2, 7, 2, []int{1, 1, 1, 1, 1, 1, 1}},
		{"many wait", 1, 2, 20, 2, []int{4, 4, 3, 2, 1, 1, 1, 1, 1, 1, 1}},
		{"nothing ahead", 1, 1, 5, 1, []int{1, 1, 1, 1, 1}},
		{"batches of two", 2, 2, 18, 2, []int{4, 2, 2, 2, 2, 2, 2, 2}},
		{"no part of a batch ahead", 16, 2, 20, 1, []int{16, 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := held(c.deep)
			dispatching(t, c.batch, c.waiting, e)
			var got []int
			for len(got) < c.ahead {
				got = append(got, e.next(t))
			}
			for len(got) < len(c.want) {
				if len(e.sizes) > 0 {
					t.Fatalf("after frames of %v images there is another before an answer", got)
				}
				e.release <- struct{}{}
				got = append(got, e.next(t))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("frames of %v images, want %v", got, c.want)
			}
		})
	}
}

// An idle engine is preferred to one that computes.
func TestIdleEnginesFirst(t *testing.T) {
	t.Parallel()
	a, b := held(2), held(2)
	put := dispatching(t, 1, 1, a, b)
	if n := a.next(t); n != 1 {
		t.Errorf("%d images", n)
	}
	put()
	if n := b.next(t); n != 1 {
		t.Errorf("%d images", n)
	}
}

// A valve stays shut from many to few, and opens for all that wait; its end opens it for good.
func TestValve(t *testing.T) {
	t.Parallel()
	waiting := 7
	v := newValve(4, 8, func() int { return waiting })
	v.pass()
	v.mu.Lock()
	waiting = 8
	v.mu.Unlock()
	passed := make(chan struct{}, 2)
	for range 2 {
		go func() {
			v.pass()
			passed <- struct{}{}
		}()
	}
	for shut := false; !shut; {
		v.mu.Lock()
		shut = v.shut
		v.mu.Unlock()
	}
	for _, left := range []int{7, 5} {
		v.mu.Lock()
		waiting = left
		v.mu.Unlock()
		v.taken()
		if len(passed) > 0 {
			t.Fatalf("it is open with %d that wait", left)
		}
	}
	v.mu.Lock()
	waiting = 4
	v.mu.Unlock()
	v.taken()
	<-passed
	<-passed
	v.mu.Lock()
	waiting = 9
	v.mu.Unlock()
	v.end()
	v.pass()
}
