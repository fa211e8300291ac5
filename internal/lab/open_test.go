package lab

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/catalog"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/sim"
)

// counted counts how often it is closed, which fails.
type counted struct {
	platform.Platform
	platform.Simulator
	closed *int
}

func (c counted) Close() error {
	*c.closed++
	return errors.Join(c.Platform.Close(), errors.New("a VM is left"))
}

// A run opens its platform once, for the checks before it as well, and says what Close could not do.
func TestARunOpensItsPlatformOnce(t *testing.T) {
	t.Parallel()
	opened, closed := 0, 0
	c := catalog.All()
	for i, k := range c.Platforms {
		if k.Name != sim.Kind().Name {
			continue
		}
		c.Platforms[i].Open = func(ctx context.Context, s parameter.Settings, seed uint64) (platform.Platform, error) {
			p, err := k.Open(ctx, s, seed)
			opened++
			return counted{p, p.(platform.Simulator), &closed}, err
		}
	}
	l := &Lab{Catalog: c, Version: "test"}
	source, err := l.Read("tutorial-aa", append([]string{"measure.blocks=2"}, short...))
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := l.Run(t.Context(), Request{Source: *source, Dir: filepath.Join(folder(t), "run"), Seed: 1})
	if outcome == nil || opened != 1 || closed != 1 || err == nil || !strings.Contains(err.Error(), "a VM is left") {
		t.Errorf("opened %d times, closed %d times: %v", opened, closed, err)
	}
}
