// Package desktop is a workload of people at desktops: each session opens and converts documents and sheets with LibreOffice,
// looks at pages with Chromium and at PDF, packs archives and saves files, with pauses. The programs are real, and each result is
// checked.
package desktop

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/desktop/document"
	"plimsoll/internal/workload/desktop/rule"
)

// Parameters are the settings.
type Parameters struct {
	Profile  string             `name:"profile" doc:"operations of a loop: knowledge is all, office is LibreOffice, PDF and files, light is PDF, archives and files" choices:"knowledge,office,light"`
	Sessions int                `name:"sessions" doc:"concurrent sessions, each with a profile, a folder, a process group and, where possible, a control group of its own" min:"1" max:"4096"`
	Loop     parameter.Duration `name:"loop" doc:"mean total of the pauses in one loop of a session; the time of the operations comes on top"`
	Think    string             `name:"think" doc:"distribution of the pauses" choices:"exponential,constant"`
	Ramp     parameter.Duration `name:"ramp" doc:"interval at which sessions join, for the published rules; 0s starts all at once"`
	LogOns   int                `name:"logons" doc:"sessions that log on at the same time; as many as sessions are a logon storm" min:"1" max:"4096"`
	Base     int                `name:"base" doc:"loops of the base phase, one session alone before the first load of a study, from which the weights of the operations follow" min:"15" max:"1000"`
	Timeout  parameter.Duration `name:"timeout" doc:"an operation that takes longer is stuck: it fails, and its session starts anew" min:"1s"`
}

func defaults() Parameters {
	return Parameters{
		Profile: "knowledge", Sessions: 1, Loop: parameter.Duration(time.Minute), Think: "exponential", LogOns: 2, Base: 18, Timeout: parameter.Duration(time.Minute),
	}
}

const unit = "session"

// Kind is the workload as the catalog lists it.
func Kind() workload.Kind { return kind(leastOperation) }

// kind is the workload with operations that take at least so long in the base phase.
func kind(least time.Duration) workload.Kind {
	return workload.Define(workload.Kind{
		Needs:   "LibreOffice, Chromium, 7-Zip and pdftoppm, as far as the profile uses them",
		Name:    "desktop",
		Doc:     "desktop sessions with LibreOffice, Chromium, PDF, archives and files, each result checked",
		Rate:    "operations",
		Metrics: metrics(),
		Own:     true,
		Unit:    &workload.Unit{Name: unit, Setting: "sessions"},
	}, defaults(), func(p Parameters) (workload.Load, error) {
		if p.Ramp > 0 && p.Ramp < parameter.Duration(time.Millisecond) {
			return nil, errors.New("ramp: at least 1ms, or 0s")
		}
		d := &desktop{Parameters: p, least: least}
		d.loop, d.needed = loopOf(p.Profile)
		return d, nil
	})
}

func metrics() []measure.Metric {
	lower := measure.LowerIsBetter
	all := []measure.Metric{
		{Name: "response", Unit: "s", Doc: "weighted sum of the mean times of the operations of a loop, without the first fifth of the load", Better: lower},
		{Name: "response.excess", Unit: "s", Doc: "response beyond the baseline", Better: lower},
		{Name: "baseline", Unit: "s", Doc: "response of one session alone, from the base phase of the study", Better: lower},
		{Name: "sessions", Unit: "1", Doc: "sessions that worked to the end", Better: measure.HigherIsBetter},
		{Name: "stuck", Unit: "1", Doc: "sessions with an operation that took longer than the timeout", Better: lower},
		{Name: "lost", Unit: "1", Doc: "sessions whose processes were killed", Better: lower},
		{Name: "logon.mean", Unit: "s", Doc: "mean time to log on, which creates the profile of each program", Better: lower},
		{Name: "logon.max", Unit: "s", Doc: "longest time to log on", Better: lower},
		{Name: "loop.cpu", Unit: "s", Doc: "CPU time of a session per loop", Better: lower},
		{Name: "session.memory", Unit: "B", Doc: "mean of the sessions' peak memory: of the control group where it is counted, or else of the largest process", Better: lower},
		{Name: "waited.cpu", Unit: "1", Doc: "share of the load in which a process waited for a CPU", Better: lower},
		{Name: "waited.memory", Unit: "1", Doc: "share of the load in which a process waited for memory", Better: lower},
		{Name: "waited.io", Unit: "1", Doc: "share of the load in which a process waited for I/O", Better: lower},
		{Name: "loop.mean", Unit: "s", Doc: "mean weighted response of whole loops", Better: lower},
		{Name: "loop.max", Unit: "s", Doc: "longest weighted response of a whole loop", Better: lower},
	}
	for _, q := range measure.Quantiles {
		all = append(all, measure.Metric{Name: "loop." + q.Name, Unit: "s", Doc: q.Name + " of the weighted response of whole loops", Better: lower})
	}
	for _, r := range rule.All() {
		all = append(all,
			measure.Metric{Name: r.Name + ".sessions", Unit: "1", Doc: "sessions by the " + r.Title + ", in a ramp; absent if the limit was not reached", Better: measure.HigherIsBetter},
			measure.Metric{Name: r.Name + ".baseline", Unit: "s", Doc: "baseline of the " + r.Title, Better: lower},
			measure.Metric{Name: r.Name + ".corrected", Unit: "1", Doc: "the same sessions less those that were lost, and half of those that were stuck", Better: measure.HigherIsBetter},
			measure.Metric{Name: r.Name + ".lag", Unit: "1", Doc: "sessions by which the ramp is estimated to overstate them", Better: lower},
		)
	}
	var classes []string
	for _, o := range operations() {
		classes = append(classes, o.name)
	}
	return slices.Concat(all, measure.OperationMetrics("operations", classes...), measure.ClientMetrics("operation"))
}

type desktop struct {
	Parameters
	loop   []operation
	needed []program
	least  time.Duration // of an operation in the base phase
}

func (d *desktop) names() (all []string) {
	for _, o := range d.loop {
		all = append(all, o.name)
	}
	return all
}

// think is the mean pause between two operations.
func (d *desktop) think() time.Duration { return time.Duration(d.Loop) / time.Duration(len(d.loop)) }

// Demand is an operation of each session at a time, with pauses.
func (d *desktop) Demand() load.Demand {
	demand := load.Demand{Concurrency: d.Sessions, Think: d.think(), Ramps: d.Ramp > 0}
	if d.Think == "exponential" {
		demand.Drawn = 1
	}
	for _, o := range d.loop {
		demand.Classes = append(demand.Classes, load.Class{Name: o.name, Share: 1 / float64(len(d.loop))})
	}
	return demand
}

// Profiles of programs and what they leave in a folder, and the documents.
const (
	eachDisk = 64 << 20
	onDisk   = 8 << 20
)

// Check finds the programs and their versions.
func (d *desktop) Check(ctx context.Context, env workload.Env) (workload.Needs, error) {
	const loop = 12 * time.Second // of one session without pauses
	needs := workload.Needs{Disk: onDisk + eachDisk*int64(d.Sessions), Time: time.Duration(d.Base+warmUp) * loop}
	paths, err := find(ctx, env.Machine, d.needed)
	if err != nil {
		return needs, err
	}
	needs.Versions, err = versions(ctx, env.Machine, paths)
	return needs, err
}

func folder(env workload.Env) string { return path.Join(env.Dir, "desktop") }

func documents(env workload.Env) string { return path.Join(folder(env), "documents") }

// readyName is the last of the documents.
const readyName = drawingName

// Prepare makes the documents.
func (d *desktop) Prepare(ctx context.Context, env workload.Env) error {
	at := documents(env)
	if _, err := env.Machine.ReadFile(ctx, path.Join(at, readyName)); err == nil {
		return nil
	}
	if err := run(ctx, env, "mkdir", "-p", "--", at); err != nil {
		return err
	}
	for _, file := range []struct {
		name string
		data []byte
	}{
		{letterName, document.Letter(env.Seed)}, {tableName, document.Table(env.Seed)},
		{textName, document.Text(env.Seed, textSize)}, {partName, document.Text(env.Seed, partSize)}, {drawingName, document.Drawing(env.Seed)},
	} {
		if err := env.Machine.WriteFile(ctx, path.Join(at, file.name), file.data); err != nil {
			return fmt.Errorf("make the documents in %s: %w", at, err)
		}
	}
	return nil
}

// Clean removes the documents, and what sessions have left.
func (d *desktop) Clean(ctx context.Context, env workload.Env) error {
	if err := run(ctx, env, "rm", "-rf", "--", folder(env)); err != nil {
		return err
	}
	r, err := env.Machine.Run(ctx, platform.Command{Argv: []string{"test", "-d", env.Dir}})
	if err != nil || r.Exit != 0 {
		return err
	}
	return run(ctx, env, "rmdir", "--ignore-fail-on-non-empty", "--", env.Dir)
}

func run(ctx context.Context, env workload.Env, argv ...string) error {
	r, err := env.Machine.Run(ctx, platform.Command{Argv: argv})
	if err == nil && r.Exit != 0 {
		err = errors.New(string(r.Stderr))
	}
	if err != nil {
		return fmt.Errorf("%s on machine %s: %w", argv[0], env.Machine.Name(), err)
	}
	return nil
}
