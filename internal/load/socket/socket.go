//go:build linux

package socket

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/routine"
	"plimsoll/internal/load/tally"
	"plimsoll/internal/measure"
)

// Run runs the load until its stage is over or the recorder has enough. What the
// peer does is counted and ends nothing; the error is for a load that cannot
// start. It never goes on longer than the stage, the time-out of an operation and
// a second. TLS takes goroutines: package routine runs the load then.
func Run(ctx context.Context, job load.Job, out *measure.Recorder) error {
	if job.TLS != nil {
		return routine.Run(ctx, job, out)
	}
	job, err := job.Complete()
	switch {
	case err != nil:
		return err
	case job.Dialogue == nil:
		return errors.New("a load on sockets requires a dialogue")
	}
	targets, err := resolveAll(ctx, job)
	if err != nil {
		return err
	}
	if err := openFiles(job.Connections + 64); err != nil {
		return err
	}
	book := tally.New(job, job.Threads, out)
	threads := make([]*thread, job.Threads)
	for i := range threads {
		if threads[i], err = newThread(&job, i, targets, book); err == nil {
			err = threads[i].dialler.connectAll(ctx, threads[i].links)
		}
		if err != nil {
			for _, t := range threads[:i+1] {
				t.release()
			}
			return tally.Advised(err)
		}
	}
	// A thread in a raw call keeps its processor; the rest of the process needs
	// its own.
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + job.Threads)
	defer func() { runtime.GOMAXPROCS(max(1, runtime.GOMAXPROCS(0)-job.Threads)) }()
	if job.Open() && job.Tick > 0 {
		defer elevate()()
	}
	origin := time.Now()
	for _, t := range threads {
		t.clock.origin = origin
		go t.run()
	}
	return book.Keep(ctx)
}

// openFiles checks the limit of open files.
func openFiles(n int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("read the limit of open files: %w", err)
	}
	if limit.Cur >= uint64(n) {
		return nil
	}
	raised := syscall.Rlimit{Cur: uint64(n), Max: max(limit.Max, uint64(n))}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &raised); err != nil {
		return fmt.Errorf("the load requires %d open files, but the limit is %d: raise it (ulimit -n %d), or lower connections", n, limit.Max, n)
	}
	return nil
}
