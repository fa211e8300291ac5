package storage

import (
	"context"
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
	stop := make(chan struct{})
	enough := sync.OnceFunc(func() { close(stop) })
	var s series
	var unread error
	split := &splitter{each: func(object []byte) error {
		in, some, err := s.next(object)
		if err != nil && unread == nil {
			unread = err
			enough()
		}
		if some && unread == nil && !out.Interval(in) {
			enough()
		}
		return nil
	}}
	result, err := env.Machine.Run(ctx, platform.Command{
		Argv: d.command(d.paths(env), stage), Stdout: split, Worker: true, Stop: stop,
	})
	if err != nil {
		return fmt.Errorf("run fio: %w", err)
	}
	if err := ended(result, stop); err != nil {
		return err
	}
	if unread != nil {
		return unread
	}
	return d.conclude(&s, cpus, result, out)
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
	if len(s.last.Jobs) == 0 {
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
	// A worker is one thread, so that workers cannot use more CPUs than there are of them.
	out.Value("generator.cpu", j.generatorCPU(s.elapsed)/float64(min(cpus, d.Disks*d.Threads)))
	return nil
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

// paths are the files or devices that the load uses.
func (d *disks) paths(env workload.Env) []string {
	if len(d.Targets) > 0 {
		return d.Targets
	}
	paths := make([]string, d.Disks)
	for i := range paths {
		paths[i] = ownDisk(env, i)
	}
	return paths
}

func ownDisk(env workload.Env, i int) string { return fmt.Sprintf("%s/disk-%02d", env.Dir, i+1) }

// timeToFill is a rough forecast at a rate that any disk reaches.
func timeToFill(bytes int64) time.Duration {
	const rate = 200 << 20
	return time.Duration(float64(bytes) / rate * 1e9)
}
