package sparkml

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/spark"
	"plimsoll/internal/workload"
)

// Run trains, in an application of its own, until the stage ends.
func (l *learning) Run(ctx context.Context, env workload.Env, stage load.Stage, out *measure.Recorder) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	at, err := l.site(ctx, env)
	if err != nil {
		return err
	}
	d, begun, err := l.begin(ctx, env, at)
	if err != nil {
		return err
	}
	defer d.end()
	r := &run{load: l, driver: d, out: out, begun: begun, site: at}
	if err := r.discard(ctx); err != nil {
		return err
	}
	if l.Algorithm == sensors {
		err = r.stream(ctx, stage)
	} else {
		err = r.train(ctx, stage)
	}
	if err != nil {
		return err
	}
	r.want, r.known = l.reference(ctx, env)
	return r.conclude(ctx)
}

// site is the cluster of the study's service, or the driver itself without one.
func (l *learning) site(ctx context.Context, env workload.Env) (site, error) {
	if env.Target == nil {
		return here(l.Local), nil
	}
	at, err := env.Target(spark.Protocol)
	if err != nil {
		return site{}, err
	}
	s, err := spark.Ask(ctx, dialFrom(env), webOf(at))
	if err != nil {
		return site{}, err
	}
	return siteOf(s)
}

// run is a load under way.
type run struct {
	load   *learning
	driver *driver
	out    *measure.Recorder
	begun  ready
	site   site

	all      []trained // also those discarded
	steady   bool      // at the end of those
	dropped  int
	clock    time.Time // the begin of the load
	measured time.Duration

	want  reference
	known bool

	streamed streamed
}

// once has one training done. What is left of the cluster must be what it was.
func (r *run) once(ctx context.Context) (trained, error) {
	t, err := r.driver.once(ctx)
	if err != nil {
		return t, err
	}
	if t.Train <= 0 || t.Test < 0 {
		return t, fmt.Errorf("the driver tells a training of %g s", t.Train)
	}
	r.all = append(r.all, t)
	return t, nil
}

// inRow is how many trainings in a row must take the same time.
const inRow = 3

// calm reports whether the last times differ by at most a share of their mean.
func calm(times []float64, share float64) bool {
	if len(times) < inRow {
		return false
	}
	last := times[len(times)-inRow:]
	return slices.Max(last)-slices.Min(last) <= share*measure.Mean(last)
}

// discard trains until the time of a training is steady: Java compiles meanwhile. A model for a stream is trained once.
func (r *run) discard(ctx context.Context) error {
	most := r.load.Discards
	if r.load.Algorithm == sensors {
		most = 1
	}
	var times []float64
	for len(times) < most && !r.steady {
		t, err := r.once(ctx)
		if err != nil {
			return err
		}
		times = append(times, t.Train)
		r.steady = calm(times, float64(r.load.Steady))
	}
	r.dropped = len(times)
	return nil
}

// train trains until the end of the stage. A training under way then is not cut off. Each is an interval.
func (r *run) train(ctx context.Context, stage load.Stage) error {
	r.clock = time.Now()
	for from := time.Duration(0); from < stage.Length; {
		t, err := r.once(ctx)
		if err != nil {
			return err
		}
		took, to := seconds(t.Train+t.Test), max(time.Since(r.clock), from+1)
		h := measure.NewHistogram()
		h.Record(took, 1)
		sample := measure.Sample{Operations: 1, Bytes: r.load.size(), Latency: h, Total: took}
		more := r.out.Interval(measure.Interval{From: from, To: to, Samples: []measure.Sample{sample}})
		if from = to; !more {
			break
		}
	}
	r.measured = time.Since(r.clock)
	return nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// least is how many trainings make a mean.
const least = 3

// conclude records the results, the checks and the observed settings.
func (r *run) conclude(ctx context.Context) error {
	a, err := r.driver.ask(ctx, "end", longest)
	for err == nil && a.End == nil { // decisions on what was under way
		r.late(a)
		a, err = r.driver.next(ctx, longest)
	}
	if err != nil {
		return err
	}
	r.out.Value("start.time", r.begun.Start)
	r.out.Value("data.time", r.begun.Data)
	r.out.Value("discarded", float64(r.dropped))
	kept := r.all[r.dropped:]
	r.out.Value("trainings", float64(len(kept)))
	r.out.Check(verified(r.want, r.known, r.all))
	r.out.Check(r.whole())
	if r.measured > 0 {
		r.out.Value(measure.GeneratorCPU, a.End.CPU/(r.measured.Seconds()+r.begun.Start+r.begun.Data))
	}
	if r.load.Algorithm == sensors {
		r.trained(r.all, a.End, 0)
		r.undelivered(a.End)
	} else {
		r.out.Check(r.enough(kept))
		r.trained(kept, a.End, r.dropped)
	}
	r.observe(kept)
	return nil
}

// enough is whether there are enough trainings, of steady time.
func (r *run) enough(kept []trained) measure.Check {
	c := measure.Check{Name: "trainings", State: measure.Pass, Detail: fmt.Sprintf("%d trainings after %d discarded ones", len(kept), r.dropped)}
	switch {
	case len(kept) < least:
		c.State, c.Detail = measure.Unknown, fmt.Sprintf("%d trainings are fewer than %d: raise measure.longest, or lower rows", len(kept), least)
	case !r.steady:
		c.State, c.Detail = measure.Unknown, fmt.Sprintf("the time of a training was not steady (%g) after %d of them: raise sparkml.discards", float64(r.load.Steady), r.dropped)
	}
	return c
}

// whole is whether the cluster had the same executors from the first training to the last.
func (r *run) whole() measure.Check {
	c := measure.Check{Name: "executors", State: measure.Pass, Detail: fmt.Sprintf("the same %d from begin to end", max(1, len(r.begun.Executors)-1))}
	for i, t := range r.all {
		if !slices.Equal(t.Executors, r.begun.Executors) {
			c.State, c.Detail = measure.Fail, fmt.Sprintf("an executor was lost, replaced or added in or before training %d of %d, which took %.3g s: the cluster was not the one of the study", i+1, len(r.all), t.Train)
			return c
		}
	}
	return c
}

// trained records the means of trainings, of which the first are left out of the totals.
func (r *run) trained(kept []trained, of *totals, from int) {
	if len(kept) == 0 {
		return
	}
	var train, test, quality, iterations []float64
	for _, t := range kept {
		train, test, iterations = append(train, t.Train), append(test, t.Test), append(iterations, t.Iterations)
		quality = append(quality, t.Quality)
	}
	r.out.Value("train.time", measure.Mean(train))
	r.out.Value("train.max", slices.Max(train))
	r.out.Value("test.time", measure.Mean(test))
	r.out.Value("quality", quality[0])
	r.out.Value("iterations", measure.Mean(iterations))
	r.out.Value("rows_iterations", float64(r.load.Rows)*measure.Mean(iterations)/measure.Mean(train))
	if len(of.Trainings) < from+len(kept) {
		return
	}
	var cpu, gc, shuffle, spill []float64
	for _, t := range of.Trainings[from : from+len(kept)] {
		cpu, gc, shuffle, spill = append(cpu, t.CPU), append(gc, t.GC), append(shuffle, t.Shuffle), append(spill, t.Spill)
	}
	r.out.Value("executor.cpu", measure.Mean(cpu))
	r.out.Value("gc", measure.Mean(gc))
	r.out.Value("shuffle.bytes", measure.Mean(shuffle))
	r.out.Value("spill.bytes", measure.Mean(spill))
}

// observe records the settings as Spark tells them.
func (r *run) observe(kept []trained) {
	r.out.Observe("sparkml.rows", strconv.Itoa(r.begun.Rows))
	r.out.Observe("sparkml.partitions", strconv.Itoa(r.begun.Partitions))
	r.out.Observe("sparkml.features", strconv.Itoa(r.begun.Features))
	name := "sparkml.iterations"
	if r.load.Algorithm == forest {
		name = "sparkml.trees"
	}
	if len(kept) > 0 {
		r.out.Observe(name, strconv.Itoa(kept[0].Most))
	}
}
