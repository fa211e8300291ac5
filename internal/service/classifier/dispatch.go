package classifier

import "fmt"

// worker is an engine with its frames.
type worker struct {
	engine  engine
	depth   int
	pending int         // frames that it holds
	flight  chan []*job // the same, oldest first
}

// finished is a frame whose classes are known.
type finished struct {
	by    *worker
	frame []*job
}

const (
	answered = 4 // most images that an engine answers together, where a batch has fewer
	behind   = 4 // images that must wait for each of them: answers are late by a fraction of their wait
)

// dispatch passes images on to the engines. One that is idle gets what there is, up to a batch; one
// that computes gets whole batches only, up to its depth.
func (s *server) dispatch() {
	ended := make(chan finished, ahead*len(s.engines))
	workers := s.startWorkers(ended)
	defer func() {
		for _, w := range workers {
			close(w.flight)
		}
	}()
	var frame []*job
	var spare [][]*job
	for {
		w := leastLoaded(workers)
		full := len(frame) >= s.order.Batch
		idle := w.pending == 0 && len(frame) > 0 && len(s.queue) == 0
		if w.pending < w.depth && (full || idle) {
			if w.depth > 1 {
				frame = s.extend(frame)
			}
			if err := w.engine.submit(frame); err != nil {
				s.fail(err)
				return
			}
			w.pending++
			w.flight <- frame
			frame, spare = next(spare)
			continue
		}
		queue := s.queue
		if full {
			queue = nil
		}
		select {
		case j := <-queue:
			frame = append(frame, j)
			s.valve.taken()
		case f := <-ended:
			f.by.pending--
			spare = append(spare, f.frame[:0])
		case <-s.over:
			return
		}
	}
}

// extend adds batches to a frame where many images wait, so that small ones do not cost a wake-up each.
func (s *server) extend(frame []*job) []*job {
	batches := min(answered, (len(s.queue)+len(frame))/(behind*len(s.engines))) / s.order.Batch
	for len(frame) < batches*s.order.Batch {
		select {
		case j := <-s.queue:
			frame = append(frame, j)
			s.valve.taken()
		default:
			return frame
		}
	}
	return frame
}

// next is an empty frame, a used one where there is one.
func next(spare [][]*job) (frame []*job, rest [][]*job) {
	if n := len(spare); n > 0 {
		return spare[n-1], spare[:n-1]
	}
	return nil, nil
}

func leastLoaded(workers []*worker) *worker {
	least := workers[0]
	for _, w := range workers[1:] {
		if w.pending < least.pending {
			least = w
		}
	}
	return least
}

func (s *server) startWorkers(ended chan<- finished) []*worker {
	workers := make([]*worker, len(s.engines))
	for i, e := range s.engines {
		w := &worker{engine: e, depth: e.depth(max(s.order.Batch, answered)), flight: make(chan []*job, ahead)}
		workers[i] = w
		s.work.Go(func() { s.collect(w, ended) })
	}
	return workers
}

// collect counts the images of a worker's frames and wakes those who wait for them.
func (s *server) collect(w *worker, ended chan<- finished) {
	for frame := range w.flight {
		if err := w.engine.collect(frame); err != nil {
			s.fail(err)
			return
		}
		batch := s.order.Batch
		s.counts.batches.Add(int64((len(frame) + batch - 1) / batch))
		for _, j := range frame {
			s.counts.images.Add(1)
			if j.class == j.label {
				s.counts.correct.Add(1)
			}
			j.done <- struct{}{}
		}
		ended <- finished{w, frame}
	}
}

// fail stops the server because an engine failed.
func (s *server) fail(err error) {
	s.stop(fmt.Errorf("compute with engine %s: %w", s.order.Engine, err))
}
