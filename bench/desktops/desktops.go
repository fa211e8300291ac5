// Package desktops measures what the harness of desktop sessions takes itself.
package desktops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"plimsoll/bench/measured"
	"plimsoll/internal/catalog"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/workload"
)

const (
	sessions = 4
	loop     = 20 * time.Second // of a session's pauses, a third of those of the default
	length   = 2 * time.Minute
	most     = .01 // of a core, for a session
)

// Harness holds the CPU time of plimsoll for a desktop session, without that of the programs, against a hundredth of a core: with
// all programs, and with the light profile, whose operations follow each other faster.
func Harness() (all []measured.Result, failed error) {
	for _, profile := range []string{"knowledge", "light"} {
		cpu, err := harness(context.Background(), profile)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("profile %s: %w", profile, err))
			continue
		}
		all = append(all, measured.Result{What: fmt.Sprintf("CPU of plimsoll for a desktop session, profile %s", profile), Got: cpu, Against: "limit", Limit: most, Unit: "cores"})
	}
	return all, failed
}

func harness(ctx context.Context, profile string) (cores float64, err error) {
	kinds := catalog.All().Workloads
	l, err := kinds[slices.IndexFunc(kinds, func(k workload.Kind) bool { return k.Name == "desktop" })].New(parameter.Settings{"profile": profile, "sessions": strconv.Itoa(sessions), "loop": loop.String()})
	if err != nil {
		return 0, err
	}
	p, err := local.Kind().Open(ctx, nil, 1)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	dir, err := os.MkdirTemp("", "plimsoll-bench-*")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	env := workload.Env{Machine: p.Machine(), Dir: dir, Seed: 1, Log: func(string, ...any) {}}
	if _, err := l.Check(ctx, env); err != nil {
		return 0, err
	}
	if err := errors.Join(l.Prepare(ctx, env), l.(workload.Calibrated).Calibrate(ctx, env)); err != nil {
		return 0, err
	}
	out := measure.NewRecorder(nil)
	if err := l.Run(ctx, env, load.Stage{Length: length, Interval: time.Second, Seed: 1}, out); err != nil {
		return 0, err
	}
	return out.Values()["client.cpu"] / sessions, nil
}
