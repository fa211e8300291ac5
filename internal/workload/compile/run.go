package compile

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/routine"
	"plimsoll/internal/measure"
	"plimsoll/internal/workload"
)

// mostUnit is how long a unit may take, with the wait for the build before it.
const mostUnit = 10 * time.Minute

// Run builds until the stage ends, and then stops running processes.
func (c *compile) Run(ctx context.Context, env workload.Env, stage load.Stage, out *measure.Recorder) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	b, err := c.builder(env)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer b.tool.busy.Wait()
	defer cancel()
	job := load.Job{
		Stage: stage, Connections: c.Jobs, Timeout: mostUnit,
		Caller: func(context.Context, int) (load.Caller, error) { return b, nil },
	}
	if err := routine.Run(ctx, job, out); err != nil {
		return err
	}
	cancel()
	b.tool.busy.Wait()
	c.conclude(b, out)
	return nil
}

func (c *compile) builder(env workload.Env) (*builder, error) {
	at := folder(env)
	all, err := units(filepath.Join(at, sourceDir))
	if err != nil {
		return nil, err
	}
	t := tool{
		name: c.Compiler, optimise: c.Optimise, busy: &sync.WaitGroup{},
		src: filepath.Join(at, sourceDir), out: filepath.Join(at, outputDir), temporary: filepath.Join(at, temporary),
	}
	for _, name := range compilers(c.Compiler) {
		if t.path, err = exec.LookPath(name); err == nil {
			return newBuilder(t, all), nil
		}
	}
	return nil, fmt.Errorf("find a C compiler: %w", err)
}

// leastBuilds is how many builds, without the first, make a mean.
const leastBuilds = 1

// conclude records the results of the builds, and the observed settings.
func (c *compile) conclude(b *builder, out *measure.Recorder) {
	s := b.summary()
	check := measure.Check{Name: "whole builds", State: measure.Pass, Detail: fmt.Sprintf("%d builds after the first one, each with the same program", s.count)}
	if s.count < leastBuilds {
		check.State = measure.Unknown
		check.Detail = "the load was too short for two builds, so that there is no time of one: raise measure.window"
	} else {
		out.Value("build.time", s.mean.Seconds())
		out.Value("build.max", s.max.Seconds())
		out.Value("build.cpu", s.cpu.Seconds())
		out.Value("builds", 1/s.mean.Seconds())
	}
	out.Check(check)
	b.mu.Lock()
	most := b.most
	b.mu.Unlock()
	out.Observe("compile.jobs", strconv.Itoa(most))
	out.Observe("compile.compiler", b.tool.name) // another would not have run
	if object, err := os.ReadFile(filepath.Join(b.tool.out, b.units[0].object())); err == nil && recorded(object) != "" {
		out.Observe("compile.optimise", recorded(object))
	}
}
