package tile

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/fault"
	"plimsoll/internal/trial/machines"
)

// farm is a platform whose operations take a known time.
type farm struct {
	platform.Platform
	takes map[string]time.Duration
	fails map[string]error

	mu   sync.Mutex // guards the fields below
	did  []string
	like map[string]platform.Group
}

func (f *farm) Operate(ctx context.Context, operation string, on platform.Machine, like platform.Group) error {
	f.mu.Lock()
	f.did = append(f.did, operation)
	f.like[operation] = like
	f.mu.Unlock()
	if (on == nil) != (operation == platform.Deploy) {
		return errors.New("the wrong machine")
	}
	select {
	case <-time.After(f.takes[operation]):
		return f.fails[operation]
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

type node struct{ platform.Machine }

// operate does operations on a farm beside work of a minute.
func operate(t *testing.T, f *farm, kinds ...study.Operation) (o *Operations, took time.Duration, err error) {
	f.like = map[string]platform.Group{}
	st := &study.Study{Groups: []study.Group{{Name: "site", Settings: parameter.Settings{"memory": "1GiB"}, Reference: 1}}, Operations: kinds}
	s := &Services{Study: st, Machines: &machines.Inventory{Platform: f}}
	twin := &machines.Member{Name: "twin-migrate-1", Group: study.Group{Name: "twin-migrate", Twin: true}}
	twin.At.Machine = node{}
	o = &Operations{Kinds: kinds}
	began := time.Now()
	err = s.Alongside(t.Context(), o, machines.Set{twin}, func(ctx context.Context) error {
		select {
		case <-time.After(time.Minute):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	return o, time.Since(began), err
}

// Of each kind one is under way at a time, and both kinds at once; the next begins at its time, or after one that takes longer.
func TestOperationsOfAPlatform(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &farm{takes: map[string]time.Duration{platform.Migrate: 2 * time.Second, platform.Deploy: 14 * time.Second}}
		began := time.Now()
		o, took, err := operate(t, f, study.Operation{Kind: platform.Migrate, Group: "site", Every: 10 * time.Second}, study.Operation{Kind: platform.Deploy, Group: "site", Every: 10 * time.Second})
		if err != nil || took != time.Minute {
			t.Fatalf("%v after %s", err, took)
		}
		// Migrations end after 2, 12, ... 52 s, and deployments after 14, 28, 42 and 56 s.
		for name, want := range map[string]float64{platform.Migrate: 6, platform.Deploy: 4} {
			if got := o.PerHour(began, began.Add(time.Minute))[name]; got != want*60 {
				t.Errorf("%s: %g per hour, want %g", name, got, want*60)
			}
		}
		if like := f.like[platform.Deploy]; like.Settings["memory"] != "1GiB" || like.Name != "twin-deploy" || like.Machines != 1 {
			t.Errorf("deployed like %+v", like)
		}
	})
}

// A change that fails after the end of the load, which it outlasts, voids the trial.
func TestFailureAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, o := &Services{Study: &study.Study{}, Machines: &machines.Inventory{}}, &Operations{}
		f := &fleet{began: time.Now(), takes: 3 * time.Second, fails: 2}
		err := s.alongside(t.Context(), o, []beside{func(ctx context.Context) error {
			<-ctx.Done()
			return change(ctx, f, 2)
		}}, func(context.Context) error { return nil })
		if _, void := fault.IsVoid(err); !void || err.Error() != "it does not start" {
			t.Errorf("got %v", err)
		}
	})
}

// An operation that fails ends the work at once and voids the trial; one that is refused ends the study.
func TestFailedOperations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		once := study.Operation{Kind: platform.Migrate, Group: "site", Every: time.Second}
		f := &farm{takes: map[string]time.Duration{platform.Migrate: time.Second}, fails: map[string]error{platform.Migrate: errors.New("it is stuck")}}
		_, took, err := operate(t, f, once)
		if _, void := fault.IsVoid(err); !void || err.Error() != "migrate for group site: it is stuck" || took != time.Second {
			t.Errorf("%v after %s", err, took)
		}
		f.fails[platform.Migrate] = &platform.Refused{Err: errors.New("a guest with network does not migrate")}
		_, _, err = operate(t, f, once)
		if refused := (*fault.Refusal)(nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), "does not migrate") {
			t.Errorf("refused: %v", err)
		}
	})
}
