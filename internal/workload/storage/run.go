package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/platform"
	"plimsoll/internal/workload"
)

// Run runs fio until the recorder has enough.
func (d *disks) Run(ctx context.Context, env workload.Env, stage load.Stage, out *measure.Recorder) error {
	cpus, err := d.allowedCPUs(ctx, env)
	if err != nil {
		return err
	}
	on, err := d.places(ctx, env)
	if err != nil {
		return err
	}
	own, kill := context.WithCancelCause(ctx)
	defer kill(nil)
	stop := make(chan struct{})
	l := &listener{out: out, length: stage.Length, open: d.Rate > 0}
	l.enough = sync.OnceFunc(func() {
		close(stop)
		if l.open {
			time.AfterFunc(lingering, func() { kill(errLingers) })
		}
	})
	defer time.AfterFunc(stage.Length+overdue, l.enough).Stop()
	result, err := env.Machine.Run(own, platform.Command{
		Argv: d.command(on, stage), Stdout: &splitter{each: l.document}, Worker: true, Stop: stop,
	})
	switch {
	case errors.Is(err, errLingers) && ctx.Err() == nil:
		out.Check(hung)
	case err != nil:
		return fmt.Errorf("run fio: %w", err)
	default:
		if err := ended(result, stop); err != nil {
			return err
		}
	}
	if l.unread != nil {
		return l.unread
	}
	return d.conclude(&l.series, cpus, result, out)
}

const (
	// lingering is how long an open loop of fio may take to end. Its threads that
	// perform operations (io_submit_mode=offload) often wait for each other for good
	// when they are to end, in 3.33 in about every second load with a depth of 4.
	lingering = 2 * time.Second
	// overdue is how long after its time a load is told to end.
	overdue = 15 * time.Second
	// straggling is how much later than asked the operations of an open loop may end.
	straggling = 50 * time.Millisecond
)

var errLingers = errors.New("fio does not end by itself")

var hung = measure.Check{Name: "fio ended", State: measure.Unknown, Detail: "fio hung when it was to end, and was ended by force; its last document counts"}

// listener hands what fio prints to the recorder as it comes.
type listener struct {
	series series
	out    *measure.Recorder
	length time.Duration // of the load
	open   bool          // an open loop
	enough func()
	full   bool // the recorder has enough; what follows only says how the load ended
	unread error
}

func (l *listener) document(text []byte) error {
	in, some, err := l.series.next(text)
	var garbled *json.SyntaxError
	switch {
	case errors.As(err, &garbled):
		// A message of fio in the midst of a document costs nothing but an instant:
		// the next one counts from the start as well.
	case err != nil && l.unread == nil:
		l.unread = err
		l.enough()
	case !some || l.full || l.unread != nil:
	case in.From >= l.length || l.open && in.To > l.length+straggling:
		// A load that does not end is still timed, and offers nothing any more.
		l.full = true
		l.enough()
	case !l.out.Interval(in):
		l.full = true
		l.enough()
	}
	return nil
}

// ended tells a load that was stopped from one that died. fio ends with status
// 128 when SIGINT stops it.
func ended(r platform.Result, stop <-chan struct{}) error {
	stopped := false
	select {
	case <-stop:
		stopped = true
	default:
	}
	if r.Exit == 0 || stopped && r.Signal == "" && r.Exit == 128 {
		return nil
	}
	return &workload.ExitError{Program: "fio", Exit: r.Exit, Signal: r.Signal, Stderr: strings.TrimSpace(string(r.Stderr))}
}

// conclude takes down what fio says of the load as a whole.
func (d *disks) conclude(s *series, cpus int, r platform.Result, out *measure.Recorder) error {
	if len(s.last.Jobs) == 0 || s.elapsed == 0 {
		return &workload.ExitError{Program: "fio", Exit: r.Exit, Stderr: "fio printed no results\n" + strings.TrimSpace(string(r.Stderr))}
	}
	j := &s.last.Jobs[0]
	if j.Error != 0 {
		return &workload.ExitError{Program: "fio", Exit: r.Exit, Stderr: fmt.Sprintf("fio met error %d\n%s", j.Error, strings.TrimSpace(string(r.Stderr)))}
	}
	levels := d.seen(&s.last)
	for _, name := range slices.Sorted(maps.Keys(levels)) {
		out.Observe("storage."+name, levels[name])
	}
	if busy, ok := d.busy(s, r); ok {
		out.Value("generator.cpu", busy/float64(min(cpus, d.workerThreads())))
	}
	return nil
}

// busy is how many CPUs the workers kept busy. In an open loop fio performs the
// operations in threads that its own account leaves out, so there it is the CPU time
// of all that fio did; false where the machine cannot tell.
func (d *disks) busy(s *series, r platform.Result) (cpus float64, ok bool) {
	if d.Rate == 0 {
		return s.last.Jobs[0].generatorCPU(s.elapsed), true
	}
	used := r.User + r.System
	return float64(used) / float64(max(s.elapsed, time.Millisecond)), used > 0
}

// workerThreads bounds the CPUs that the workers can use at once.
func (d *disks) workerThreads() int {
	n := d.Disks * d.Threads
	if d.Rate > 0 {
		n *= 1 + d.Depth
	}
	return n
}

// allowedCPUs is how many CPUs a worker may use, asked of a worker.
func (d *disks) allowedCPUs(ctx context.Context, env workload.Env) (int, error) {
	r, err := env.Machine.Run(ctx, platform.Command{Argv: []string{"nproc"}, Worker: true})
	if err != nil {
		return 0, fmt.Errorf("count the CPUs of a worker: %w", err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(r.Stdout)))
	if err != nil || n < 1 {
		return 0, errors.New("count the CPUs of a worker: nproc printed no number")
	}
	return n, nil
}

// places are the files or devices that the load uses, with links resolved.
func (d *disks) places(ctx context.Context, env workload.Env) ([]disk, error) {
	if len(d.Targets) == 0 {
		on := make([]disk, d.Disks)
		for i := range on {
			on[i] = disk{ownDisk(env, i), d.Size}
		}
		return on, nil
	}
	on := make([]disk, len(d.Targets))
	for i, name := range d.Targets {
		t, err := resolve(ctx, env.Machine, name)
		if err != nil {
			return nil, err
		}
		on[i] = disk{t.path, t.size}
	}
	return on, nil
}

func ownDisk(env workload.Env, i int) string { return fmt.Sprintf("%s/disk-%02d", env.Dir, i+1) }

// timeToFill is a rough forecast at a rate that any disk reaches.
func timeToFill(bytes int64) time.Duration {
	const rate = 200 << 20
	return time.Duration(float64(bytes) / rate * 1e9)
}
