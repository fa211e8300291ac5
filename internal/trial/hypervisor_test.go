package trial

import (
	"context"
	"errors"
	"slices"
	"testing"

	"plimsoll/internal/measure"
	"plimsoll/internal/platform"
)

// remote is a guest of another host.
type remote struct{ *machine }

func (r *remote) Machine() platform.Machine { return r }

func (r *remote) Given(context.Context) (platform.GuestUsage, error) {
	return platform.GuestUsage{}, nil
}

func (r *remote) Process(context.Context) (int, error) {
	return 0, errors.New("it runs on host b")
}

// The record of a guest whose host cannot be read says why.
func TestAHostThatIsNotReadIsMissing(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	r := newRig(t)
	b := r.bench(t, exampleStudy(), 1)
	b.Platform = &remote{r.machine}
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, record := range r.records(t) {
		if !record.Valid() || !slices.Contains(record.Missing, measure.HostOf+"fake: it runs on host b") || record.Files["host-host.json"] != "" {
			t.Errorf("trial %d: void %q, missing %q, files %v", record.Trial, record.Void, record.Missing, record.Files)
		}
	}
}
