package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/platforms/sim"
)

// counted is a simulated platform that counts how often it is closed, which fails.
type counted struct {
	platform.Platform
	platform.Simulator
	closed *int
}

func (c counted) Close() error {
	*c.closed++
	return errors.Join(c.Platform.Close(), errors.New("a VM is left"))
}

// real is the same of one that is not simulated.
type real struct {
	platform.Platform
	closed *int
}

func (r real) Close() error { return counted{r.Platform, nil, r.closed}.Close() }

// counting is a lab that counts how often a platform is opened and closed.
func counting(kind string, wrap func(platform.Platform, *int) platform.Platform) (l *Lab, opened, closed *int) {
	opened, closed = new(int), new(int)
	c := few()
	for i, k := range c.Platforms {
		if k.Name == kind {
			c.Platforms[i].Open = func(ctx context.Context, s parameter.Settings, seed uint64) (platform.Platform, error) {
				*opened++
				p, err := k.Open(ctx, s, seed)
				return wrap(p, closed), err
			}
		}
	}
	return &Lab{Catalog: c, Version: "test"}, opened, closed
}

// A run opens its platform once, for the checks before it as well, and says what Close could not do.
func TestARunOpensItsPlatformOnce(t *testing.T) {
	t.Parallel()
	l, opened, closed := counting(sim.Kind().Name, func(p platform.Platform, closed *int) platform.Platform {
		return counted{p, p.(platform.Simulator), closed}
	})
	source, err := l.Read("tutorial-aa", append([]string{"measure.blocks=2"}, short...))
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := l.Run(t.Context(), Request{Source: *source, Dir: filepath.Join(folder(t), "run"), Seed: 1})
	if outcome == nil || *opened != 1 || *closed != 1 || err == nil || !strings.Contains(err.Error(), "a VM is left") {
		t.Errorf("opened %d times, closed %d times: %v", *opened, *closed, err)
	}
}

const goal = `study: goal
question: Which label is best?
platform: local
workload: {"null": {rate: 2000/s}}
factors: {label: [a]}
goal: {least: p50}
measure: {settle: 0s, warmup: 10ms, window: 100ms, longest: 200ms, interval: 20ms, retries: 100}
`

// All steps of tuning share a platform: what was uploaded once is not uploaded again.
func TestTuningOpensItsPlatformOnce(t *testing.T) {
	t.Parallel()
	l, opened, closed := counting(local.Kind().Name, func(p platform.Platform, closed *int) platform.Platform { return real{p, closed} })
	file := filepath.Join(folder(t), "study.yaml")
	if err := os.WriteFile(file, []byte(goal), 0o600); err != nil {
		t.Fatal(err)
	}
	source, err := l.Read(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := l.Tune(t.Context(), Request{Source: *source, Dir: filepath.Join(folder(t), "tune"), Seed: 1})
	if outcome == nil || *opened != 1 || *closed != 1 || err == nil || !strings.Contains(err.Error(), "a VM is left") {
		t.Errorf("opened %d times, closed %d times: %v", *opened, *closed, err)
	}
}
