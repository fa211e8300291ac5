package tile

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/study"
)

// fleet records the numbers of servers that it gets.
type fleet struct {
	began time.Time
	takes time.Duration
	fails int // at this number
	seen  []int
	at    []time.Duration
}

func (f *fleet) Scale(ctx context.Context, n int) error {
	f.seen, f.at = append(f.seen, n), append(f.at, time.Since(f.began))
	if n == f.fails {
		return errors.New("it does not start")
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(f.takes):
		return nil
	}
}

// Servers come and go at the instants of the schedule, again from the first; a number that stays is no change.
func TestScale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, f := &Operations{}, &fleet{began: time.Now(), takes: time.Second}
		ctx, end := context.WithCancelCause(t.Context())
		began := time.Now()
		time.AfterFunc(62*time.Second, func() { end(errOver) })
		if err := o.scale(ctx, "portal", f, &study.Elastic{Servers: []int{1, 2, 2, 1}, Every: 10 * time.Second}); !errors.Is(err, errOver) {
			t.Fatal(err)
		}
		want := []struct {
			at  time.Duration
			now int
		}{{10 * time.Second, 2}, {30 * time.Second, 1}, {50 * time.Second, 2}}
		changes := o.Changes()
		if len(changes) != len(want) || len(f.seen) != len(want) {
			t.Fatalf("changes %+v", changes)
		}
		for i, w := range want {
			c := changes[i]
			if c.Now != w.now || f.at[i] != w.at || !c.Due.Equal(began.Add(w.at)) || c.To.Sub(c.From) != time.Second || c.Machine != "portal" {
				t.Errorf("change %d is %+v, at %s; want %+v", i, c, f.at[i], w)
			}
		}
		events := o.Happened(began)
		if events[0].Kind != "server added" || events[1].Kind != "server removed" || events[1].From != 30 || events[1].To != 31 || events[1].Value != 1 || events[1].Name != "portal" {
			t.Errorf("events %+v", events)
		}
	})
}

// A change that takes longer than a step delays the next, and the schedule goes on.
func TestScaleLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, f := &Operations{}, &fleet{began: time.Now(), takes: 15 * time.Second}
		ctx, end := context.WithCancelCause(t.Context())
		time.AfterFunc(44*time.Second, func() { end(errOver) })
		if err := o.scale(ctx, "portal", f, &study.Elastic{Servers: []int{1, 2}, Every: 10 * time.Second}); !errors.Is(err, errOver) {
			t.Fatal(err)
		}
		if c := o.Changes(); len(c) != 3 || f.at[1] != 25*time.Second || c[1].Due.Sub(f.began) != 20*time.Second {
			t.Errorf("changes %+v at %v", c, f.at)
		}
	})
}

// A load that ends in the middle of a change waits for it.
func TestScaleCompletes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, f := &Operations{}, &fleet{began: time.Now(), takes: 5 * time.Second}
		ctx, end := context.WithCancelCause(t.Context())
		time.AfterFunc(12*time.Second, func() { end(errOver) })
		err := o.scale(ctx, "portal", f, &study.Elastic{Servers: []int{1, 2}, Every: 10 * time.Second})
		if !errors.Is(err, errOver) || len(o.Changes()) != 1 || time.Since(f.began) != 15*time.Second {
			t.Errorf("got %v after %s, %v", err, time.Since(f.began), o.Changes())
		}
	})
}

// A server that does not start ends the load.
func TestScaleFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, f := &Operations{}, &fleet{began: time.Now(), fails: 2}
		err := o.scale(t.Context(), "portal", f, &study.Elastic{Servers: []int{1, 2}, Every: time.Second})
		if err == nil || err.Error() != "portal: from 1 to 2 servers: it does not start" || len(o.Changes()) != 0 {
			t.Errorf("got %v, %v", err, o.Changes())
		}
	})
}
