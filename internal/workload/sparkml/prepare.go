package sparkml

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/platform"
	"plimsoll/internal/spark"
	"plimsoll/internal/workload"
)

//go:embed driver.py
var script []byte

const scriptName = "driver.py"

// folder is the folder of the workload, below the scratch folder.
func folder(env workload.Env) string { return path.Join(env.Dir, "sparkml") }

// Check finds PySpark and Java, and checks the memory for the driver.
func (l *learning) Check(ctx context.Context, env workload.Env) (workload.Needs, error) {
	needs := workload.Needs{Disk: 64 << 20, Time: 30 * time.Second}
	if l.Storage != "memory" {
		needs.Disk += 2 * l.size()
	}
	on, err := spark.Find(ctx, env.Machine, l.Home, l.Java)
	if err != nil {
		return needs, err
	}
	needs.Versions = map[string]string{"spark": on.Version, "java": on.JavaVersion}
	text, err := env.Machine.ReadFile(ctx, "/proc/meminfo")
	if err != nil {
		return needs, nil // a machine without the figure may have enough
	}
	if has, known := platform.Meminfo(text, "MemAvailable"); known && int64(l.DriverMemory) > has/4*3 {
		return needs, fmt.Errorf("driver_memory %s is more than three quarters of the memory left on machine %s, %.1f GiB: lower it", l.DriverMemory, env.Machine.Name(), float64(has)/(1<<30))
	}
	return needs, nil
}

// Prepare writes the driver, and trains once in it alone: what that yields, each training of the study must yield.
func (l *learning) Prepare(ctx context.Context, env workload.Env) error {
	at := folder(env)
	if _, known := l.reference(ctx, env); known {
		return nil
	}
	if err := command(ctx, env, "mkdir", "-p", "--", path.Join(at, "tmp"), path.Join(at, "local")); err != nil {
		return err
	}
	if have, err := env.Machine.ReadFile(ctx, path.Join(at, scriptName)); err != nil || !bytes.Equal(have, script) {
		if err := env.Machine.WriteFile(ctx, path.Join(at, scriptName), script); err != nil {
			return fmt.Errorf("write the driver: %w", err)
		}
	}
	d, _, err := l.begin(ctx, env, here(l.Local))
	if err != nil {
		return fmt.Errorf("train once in the driver, as a reference: %w", err)
	}
	defer d.end()
	once, err := d.once(ctx)
	if err != nil {
		return fmt.Errorf("train once in the driver, as a reference: %w", err)
	}
	text, err := json.Marshal(reference{Quality: once.Quality, Iterations: once.Iterations})
	if err != nil {
		return fmt.Errorf("encode the reference: %w", err)
	}
	if err := env.Machine.WriteFile(ctx, l.referenceFile(env), text); err != nil {
		return fmt.Errorf("write the reference: %w", err)
	}
	return nil
}

// reference is what a training in the driver alone has yielded.
type reference struct {
	Quality    float64 `json:"quality"`
	Iterations float64 `json:"iterations"`
}

func (l *learning) referenceFile(env workload.Env) string {
	return path.Join(folder(env), "reference-"+l.data(env.Seed).key()+".json")
}

func (l *learning) reference(ctx context.Context, env workload.Env) (r reference, known bool) {
	text, err := env.Machine.ReadFile(ctx, l.referenceFile(env))
	return r, err == nil && json.Unmarshal(text, &r) == nil
}

// same is the largest relative difference of two qualities of the same training: sums of floating-point numbers depend on
// their order.
const same = 1e-9

// verified compares the quality of all trainings with the reference.
func verified(want reference, known bool, all []trained) measure.Check {
	for _, t := range all {
		if !known {
			want, known = reference{Quality: t.Quality}, true
		}
		if !(math.Abs(t.Quality-want.Quality) <= same*math.Abs(want.Quality)) {
			return measure.DataCheck("quality", false, fmt.Sprintf("a training has the quality %.12g, and the same training in the driver alone has %.12g: this cluster computes incorrectly", t.Quality, want.Quality))
		}
	}
	return measure.DataCheck("quality", true, fmt.Sprintf("each of %d trainings has the quality %.12g, as in the driver alone", len(all), want.Quality))
}

// Clean removes the driver and the references.
func (l *learning) Clean(ctx context.Context, env workload.Env) error {
	if err := command(ctx, env, "rm", "-rf", "--", folder(env)); err != nil {
		return err
	}
	r, err := env.Machine.Run(ctx, platform.Command{Argv: []string{"test", "-d", env.Dir}})
	if err != nil || r.Exit != 0 {
		return err
	}
	return command(ctx, env, "rmdir", "--ignore-fail-on-non-empty", "--", env.Dir)
}

func command(ctx context.Context, env workload.Env, argv ...string) error {
	r, err := env.Machine.Run(ctx, platform.Command{Argv: argv})
	if err == nil && r.Exit != 0 {
		err = errors.New(string(bytes.TrimSpace(r.Stderr)))
	}
	if err != nil {
		return fmt.Errorf("%s on machine %s: %w", argv[0], env.Machine.Name(), err)
	}
	return nil
}
