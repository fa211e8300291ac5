// Package compile is a workload of builds: it compiles and links a program whose source
// comes with plimsoll, with the compiler of the machine, over and over. An operation is
// one translation unit; the time of a whole build is what is asked for most.
package compile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/platform"
	"plimsoll/internal/workload"
)

// Parameters are the settings.
type Parameters struct {
	Compiler string `name:"compiler" doc:"name or path of the C compiler; auto is the first of cc, gcc and clang"`
	Jobs     int    `name:"jobs" doc:"concurrent compiler processes (make -j)" min:"1" max:"32"`
	Optimise string `name:"optimise" doc:"compiler optimisation level" choices:"O0,O1,O2,O3,Os"`
}

const auto = "auto"

func defaults() Parameters { return Parameters{Compiler: auto, Jobs: 2, Optimise: "O2"} }

// compilers are those that auto looks for.
func compilers(asked string) []string {
	if asked == auto {
		return []string{"cc", "gcc", "clang"}
	}
	return []string{asked}
}

// Kind is the workload as the catalog lists it. The archive is the source; a program that
// only makes the load, in a worker, needs none.
func Kind(archive []byte) workload.Kind {
	return workload.Define(workload.Kind{
		Needs:   "a C compiler",
		Name:    "compile",
		Doc:     "builds " + sourceName + " repeatedly with the C compiler of the machine",
		Rate:    "units",
		Metrics: metrics(),
		Own:     true,
	}, defaults(), func(p Parameters) (workload.Load, error) {
		if p.Compiler == "" {
			return nil, errors.New("compiler: must be a program, such as gcc, or auto")
		}
		return &compile{p, archive}, nil
	})
}

func metrics() []measure.Metric {
	return slices.Concat(measure.OperationMetrics("units"), []measure.Metric{
		{Name: "build.time", Unit: "s", Doc: "mean elapsed time of a build, without the first", Better: measure.LowerIsBetter},
		{Name: "build.max", Unit: "s", Doc: "longest elapsed time of a build, without the first", Better: measure.LowerIsBetter},
		{Name: "build.cpu", Unit: "s", Doc: "mean CPU time of the compilers per build, without the first", Better: measure.LowerIsBetter},
		{Name: "builds", Unit: "1/s", Doc: "builds per second, without the first", Better: measure.HigherIsBetter},
		{Name: "client.cpu", Unit: "1", Doc: "CPUs used by plimsoll itself, without the compilers"},
		{Name: "client.cpu_per_operation", Unit: "s", Doc: "CPU time of plimsoll itself per unit", Better: measure.LowerIsBetter},
		{Name: "client.gap", Unit: "s", Doc: "longest delay of the load's control thread", Better: measure.LowerIsBetter},
		{Name: "generator.cpu", Unit: "1", Doc: "CPU utilisation of plimsoll itself"},
	})
}

type compile struct {
	Parameters
	archive []byte
}

// Demand is a translation unit for each job.
func (c *compile) Demand() load.Demand {
	return load.Demand{Concurrency: c.Jobs, Classes: []load.Class{{Share: 1, Bytes: sourceBytes / sourceUnits}}}
}

// Check finds a compiler, and verifies that it can build programs.
func (c *compile) Check(ctx context.Context, env workload.Env) (workload.Needs, error) {
	needs := workload.Needs{Disk: onDisk, Time: 10 * time.Second}
	name, version, err := c.find(ctx, env.Machine)
	if err != nil {
		return needs, err
	}
	needs.Versions = map[string]string{"compiler": version, "source": sourceName}
	r, err := env.Machine.Run(ctx, platform.Command{
		Argv: []string{name, "-fsyntax-only", "-x", "c", "-"}, Stdin: strings.NewReader("#include <math.h>\n#include <stdio.h>\nint main(void) { return 0; }\n"),
	})
	if err != nil {
		return needs, fmt.Errorf("try compiler %s: %w", name, err)
	}
	if r.Exit != 0 {
		return needs, fmt.Errorf("compiler %s on machine %s cannot compile a program: apt install libc6-dev (or dnf install glibc-devel); it said: %s", name, env.Machine.Name(), firstLine(r.Stderr))
	}
	return needs, nil
}

// onDisk is the size of sources, objects and programs, in bytes.
const onDisk = 16 << 20

// find returns the compiler.
func (c *compile) find(ctx context.Context, m platform.Machine) (name, version string, err error) {
	for _, name := range compilers(c.Compiler) {
		r, err := m.Run(ctx, platform.Command{Argv: []string{name, "--version"}})
		if ctx.Err() != nil {
			return "", "", fmt.Errorf("find a compiler: %w", context.Cause(ctx))
		}
		if err == nil && r.Exit == 0 {
			return name, firstLine(r.Stdout), nil
		}
	}
	return "", "", fmt.Errorf("machine %s has no C compiler (%s): apt install gcc libc6-dev (or dnf install gcc), or name one that is there with compile.compiler; workload processor does work like it without a compiler, as in a guest",
		m.Name(), strings.Join(compilers(c.Compiler), ", "))
}

func firstLine(text []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
	return string(line)
}

// The folders and the mark in the folder of the workload.
const (
	folderName = "compile"
	sourceDir  = "src"
	outputDir  = "out"
	temporary  = "tmp"
	readyName  = "ready" // holds the digest of the source that was unpacked
)

func folder(env workload.Env) string { return path.Join(env.Dir, folderName) }

// Prepare unpacks the source.
func (c *compile) Prepare(ctx context.Context, env workload.Env) error {
	at := folder(env)
	if was, err := env.Machine.ReadFile(ctx, path.Join(at, readyName)); err == nil && string(was) == sourceDigest {
		return nil
	}
	if err := checkSource(c.archive); err != nil {
		return err
	}
	mkdir := []string{"mkdir", "-p", "--", path.Join(at, sourceDir), path.Join(at, outputDir), path.Join(at, temporary)}
	if err := run(ctx, env, platform.Command{Argv: mkdir}); err != nil {
		return err
	}
	unpack := platform.Command{Argv: []string{"tar", "-xzf", "-", "--no-same-owner", "--strip-components=2", "-C", path.Join(at, sourceDir), sourceInside}, Stdin: bytes.NewReader(c.archive)}
	if err := run(ctx, env, unpack); err != nil {
		return fmt.Errorf("unpack the source: %w", err)
	}
	return env.Machine.WriteFile(ctx, path.Join(at, readyName), []byte(sourceDigest))
}

// Clean removes the source and all that was built.
func (c *compile) Clean(ctx context.Context, env workload.Env) error {
	if err := run(ctx, env, platform.Command{Argv: []string{"rm", "-rf", "--", folder(env)}}); err != nil {
		return err
	}
	r, err := env.Machine.Run(ctx, platform.Command{Argv: []string{"test", "-d", env.Dir}})
	if err != nil || r.Exit != 0 {
		return err
	}
	return run(ctx, env, platform.Command{Argv: []string{"rmdir", "--ignore-fail-on-non-empty", "--", env.Dir}})
}

func run(ctx context.Context, env workload.Env, c platform.Command) error {
	r, err := env.Machine.Run(ctx, c)
	if err == nil && r.Exit != 0 {
		err = errors.New(firstLine(r.Stderr))
	}
	if err != nil {
		return fmt.Errorf("%s on machine %s: %w", c.Argv[0], env.Machine.Name(), err)
	}
	return nil
}
