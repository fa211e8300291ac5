package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/platform"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/storage/fio"
	"plimsoll/internal/workload/storage/pace"
)

// Run runs fio until the recorder has enough.
func (d *disks) Run(ctx context.Context, env workload.Env, stage load.Stage, out *measure.Recorder) error {
	d = d.at(env)
	d.pattern.within = stage.Within
	on, err := d.places(ctx, env)
	if err != nil {
		return err
	}
	servers, err := d.serve(ctx, env, on)
	if err != nil {
		return err
	}
	begun := time.Now()
	err = d.drive(ctx, env, on, stage, out)
	ran := time.Since(begun)
	level, unknown := throughAll(servers)
	used, failed := end(servers)
	if err != nil {
		return err
	}
	if err := errors.Join(unknown, failed); err != nil {
		return err
	}
	out.Observe("storage.through", level)
	if d.pattern.Backing != autoBacking {
		out.Observe("storage.backing", backing(&d.pattern))
	}
	if len(servers) > 0 {
		out.Value("through.cpu", used.Seconds()/ran.Seconds())
	}
	return nil
}

// drive runs fio on the disks.
func (d *disks) drive(ctx context.Context, env workload.Env, on []disk, stage load.Stage, out *measure.Recorder) error {
	cpus, err := allowedCPUs(ctx, env)
	if err != nil {
		return err
	}
	stop := make(chan struct{})
	l := &listener{out: out, length: stage.Length, enough: sync.OnceFunc(func() { close(stop) })}
	if d.pattern.Rate > 0 {
		l.offer = &offer{waits: pace.NewWaits(d.pattern.paced().Share(), stage.Seed)}
	}
	// A fio that hangs is asked to end, and made to by the machine.
	defer time.AfterFunc(stage.Length+surplus+overdue+connects(&d.pattern), l.enough).Stop()
	result, err := env.Machine.Run(ctx, platform.Command{
		Argv: d.pattern.cluster.in(d.pattern.command(on, stage)), Stdout: &fio.Splitter{Each: l.document}, Worker: true, Stop: stop,
	})
	if err != nil {
		return fmt.Errorf("run fio: %w", err)
	}
	err = ended(result, stop)
	if d.pattern.Verify != "none" {
		out.Check(verified(result, err))
	}
	if err != nil && !fellAtTheEnd(d.pattern.engine(), result, stop) {
		return err
	}
	if l.unread != nil {
		return l.unread
	}
	if l.offer != nil {
		for _, c := range d.pattern.kept(l.offer) {
			out.Check(c)
		}
	}
	return d.conclude(&l.series, cpus, result, out)
}

// mismatch is what fio says of data that do not match their checksum.
var mismatch = regexp.MustCompile(`(?m)^.*(?:verify failed|verify: bad|verify type mismatch).*$`)

// verified is whether what was read matched the checksums that preconditioning wrote.
func verified(r platform.Result, failed error) measure.Check {
	if said := mismatch.Find(r.Stderr); said != nil {
		return measure.DataCheck("data", false, "a read does not match its checksum: fio: "+strings.TrimSpace(string(said)))
	}
	c := measure.DataCheck("data", true, "every read matched its checksum")
	if failed != nil {
		c.State, c.Detail = measure.Unknown, "fio ended before it had verified all that it read"
	}
	return c
}

const (
	overdue = 15 * time.Second // after which a load is told to end that has not
	// surplus is how much longer than its time fio runs: it is told to end when it has printed its counters after that. The last that it prints are of
	// workers that have ended.
	surplus    = 5 * time.Second
	connecting = 500 * time.Millisecond // of a worker to a cluster, one after the other, on a busy host
)

// connects is how long the workers may take before they start.
func connects(p *pattern) time.Duration {
	if p.cluster == nil {
		return 0
	}
	return time.Duration(p.workers()) * connecting
}

// listener hands what fio prints to the recorder as it comes.
type listener struct {
	series fio.Series
	offer  *offer // of an open loop
	out    *measure.Recorder
	length time.Duration // of the load
	enough func()
	full   bool // the recorder has enough
	unread error
}

func (l *listener) document(text []byte) error {
	if l.full {
		return nil
	}
	in, some, err := l.series.Next(text)
	var garbled *json.SyntaxError
	switch {
	case errors.As(err, &garbled):
		// A message of fio in the midst of a document costs nothing but an instant:
		// the next one counts from the start as well.
	case err != nil && l.unread == nil:
		l.unread = err
		l.enough()
	case !some || l.unread != nil:
	default:
		if l.offer != nil {
			l.offer.add(&in)
		}
		if !l.out.Interval(in) || in.To >= l.length {
			l.full = true
			l.enough()
		}
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
	return workload.Ended("fio", r)
}

// fellAtTheEnd reports whether fio fell over its own feet when it was told to end: its engine
// nbd now and then does so with operations outstanding, and by then all is counted.
func fellAtTheEnd(engine string, r platform.Result, stop <-chan struct{}) bool {
	select {
	case <-stop:
		return engine == "nbd" && r.Signal == "SIGSEGV"
	default:
		return false
	}
}

// conclude records fio's results of the whole load.
func (d *disks) conclude(s *fio.Series, cpus int, r platform.Result, out *measure.Recorder) error {
	if len(s.Last.Jobs) == 0 || s.Elapsed == 0 {
		return &workload.ExitError{Program: "fio", Exit: r.Exit, Stderr: "fio printed no results\n" + strings.TrimSpace(string(r.Stderr))}
	}
	j := &s.Last.Jobs[0]
	if j.Error != 0 {
		return &workload.ExitError{Program: "fio", Exit: r.Exit, Stderr: fmt.Sprintf("fio reported error %d\n%s", j.Error, strings.TrimSpace(string(r.Stderr)))}
	}
	levels := d.pattern.seen(&s.Last)
	for _, name := range slices.Sorted(maps.Keys(levels)) {
		out.Observe("storage."+name, levels[name])
	}
	// A worker is one thread, so that workers cannot use more CPUs than there are of them.
	out.Value("generator.cpu", j.GeneratorCPU(s.Elapsed)/float64(min(cpus, d.pattern.workers())))
	return nil
}

// allowedCPUs is how many CPUs a worker may use, asked of a worker.
func allowedCPUs(ctx context.Context, env workload.Env) (int, error) {
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
	if len(d.pattern.Targets) == 0 {
		on := make([]disk, d.pattern.Disks)
		for i := range on {
			on[i] = disk{d.own(env, i), d.pattern.Size}
		}
		return on, nil
	}
	on := make([]disk, len(d.pattern.Targets))
	for i, name := range d.pattern.Targets {
		t, err := resolve(ctx, env.Machine, name)
		if err != nil {
			return nil, err
		}
		on[i] = disk{t.path, t.size}
	}
	return on, nil
}

// own is the path of the file, or the name of the image, of a disk that plimsoll makes.
func (d *disks) own(env workload.Env, i int) string {
	if d.pattern.cluster != nil {
		return imageName(env, i)
	}
	return ownDisk(env, i)
}

func ownDisk(env workload.Env, i int) string { return fmt.Sprintf("%s/disk-%02d", env.Dir, i+1) }

// timeToFill is a rough forecast at a rate that any disk reaches.
func timeToFill(bytes int64) time.Duration {
	const rate = 200 << 20
	return time.Duration(float64(bytes) / rate * 1e9)
}
