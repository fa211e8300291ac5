package agent

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/workload"
)

// collections is the GOGC of a worker in percent: its heap is small, and a collection disturbs
// timing.
const collections = 800

// Serve is the worker's side: it reads a job, runs the load and writes its measurements.
// Closing enough ends the load as if its recorder had enough. It returns an error only if it
// cannot report at all.
func Serve(ctx context.Context, in io.Reader, out io.Writer, kinds []workload.Kind, enough <-chan struct{}) error {
	sparing()
	return (&worker{clock: systemClock}).serve(ctx, in, out, kinds, enough)
}

func (w *worker) serve(ctx context.Context, in io.Reader, out io.Writer, kinds []workload.Kind, enough <-chan struct{}) error {
	var job Job
	decoder := json.NewDecoder(in)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&job); err != nil {
		return fmt.Errorf("read the job from standard input: %w", err)
	}
	w.out = bufio.NewWriterSize(out, 1<<20)
	w.recorder = measure.NewRecorder(w.interval)
	go func() {
		select {
		case <-enough:
			w.enough.Store(true)
		case <-ctx.Done():
		}
	}()
	last := &end{}
	err := w.await(ctx, job, decoder)
	if err == nil {
		err = w.run(ctx, job, kinds)
	}
	if err != nil {
		last.Error = err.Error()
	}
	last.Observed, last.Values, last.Checks = w.recorder.Observed(), w.recorder.Values(), w.recorder.Checks()
	w.send(message{End: last})
	return w.failed
}

// worker is a load in progress.
type worker struct {
	clock    func() reading
	recorder *measure.Recorder
	enough   atomic.Bool

	mu     sync.Mutex // guards the fields below
	out    *bufio.Writer
	failed error
}

// await waits for the common start time.
func (w *worker) await(ctx context.Context, job Job, in *json.Decoder) error {
	if !job.Together {
		return nil
	}
	from := w.clock()
	w.send(message{Ready: true})
	var s start
	if err := in.Decode(&s); err != nil {
		return fmt.Errorf("wait for the other machines: %w", err)
	}
	due, err := from.due(s.At, w.clock())
	if err != nil {
		return err
	}
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
	}
	w.recorder.Value(Late, time.Since(due).Seconds())
	return nil
}

func (w *worker) run(ctx context.Context, job Job, kinds []workload.Kind) error {
	i := slices.IndexFunc(kinds, func(k workload.Kind) bool { return k.Name == job.Workload })
	if i < 0 {
		return fmt.Errorf("this program does not contain workload %q: run the load on plimsoll's own machine", job.Workload)
	}
	l, err := kinds[i].New(job.Settings)
	if err != nil {
		return err
	}
	env := workload.Env{
		Dir: job.Dir, Seed: job.Seed, Target: targets(job.Targets),
		Log: func(format string, args ...any) { w.send(message{Log: fmt.Sprintf(format, args...)}) },
	}
	if !job.Calibrate {
		return l.Run(ctx, env, job.Stage, w.recorder)
	}
	c, ok := l.(workload.Calibrated)
	if !ok {
		return fmt.Errorf("workload %q has nothing to calibrate", job.Workload)
	}
	return c.Calibrate(ctx, env)
}

func targets(known map[string]load.Endpoint) func(string) (load.Endpoint, error) {
	return func(protocol string) (load.Endpoint, error) {
		if e, ok := known[protocol]; ok {
			return e, nil
		}
		return load.Endpoint{}, fmt.Errorf("no service supports protocol %s", protocol)
	}
}

// interval sends the last interval and reports whether the load may end.
func (w *worker) interval(r *measure.Recorder) bool {
	intervals := r.Intervals()
	w.send(message{Interval: &intervals[len(intervals)-1]})
	return w.enough.Load()
}

func (w *worker) send(m message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed != nil {
		return
	}
	text, err := json.Marshal(m)
	if err == nil {
		_, err = w.out.Write(append(text, '\n'))
	}
	if err == nil {
		err = w.out.Flush()
	}
	if err != nil {
		w.failed = fmt.Errorf("send the measurements: %w", err)
		w.enough.Store(true)
	}
}
