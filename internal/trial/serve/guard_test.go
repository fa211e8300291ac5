package serve_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/service"
	"plimsoll/internal/trial/fault"
	"plimsoll/internal/trial/serve"
)

// ailing is a service that is in trouble after a time.
type ailing struct {
	service.Instance
	from time.Time
	dead bool // then
}

func (a ailing) Trouble(context.Context) error {
	if time.Now().Before(a.from) || a.dead {
		return nil
	}
	return errors.New("osd.1 is full")
}

func (a ailing) Died() error {
	if time.Now().Before(a.from) || !a.dead {
		return nil
	}
	return errors.New("ceph ended")
}

// A load that waits for a service in trouble is ended, and so is one whose service has died. One that ends before is not.
func TestGuardEndsLoads(t *testing.T) {
	const forever = 100 * time.Hour
	for name, c := range map[string]struct {
		from, load, most time.Duration
		dead             bool
		want             string
	}{
		"well":                      {from: forever, load: time.Minute, most: time.Minute},
		"in trouble":                {from: 5 * time.Second, load: forever, most: 7 * time.Second, want: "service stock: osd.1 is full"},
		"in trouble at the end":     {from: 4500 * time.Millisecond, load: 5 * time.Second, most: 5 * time.Second, want: "service stock: osd.1 is full"},
		"dead":                      {from: 5 * time.Second, load: forever, most: 7 * time.Second, dead: true, want: "the load was ended"},
		"dead as the load had been": {from: 6 * time.Second, load: 5 * time.Second, most: 5 * time.Second, dead: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				s := &serve.Services{Current: &serve.Running{Kind: service.Kind{Name: "stock"}, Instance: ailing{from: begin.Add(c.from), dead: c.dead}}}
				err := serve.Guard(t.Context(), s, func(ctx context.Context) error {
					if serve.Wait(ctx, c.load) != nil {
						return fault.Void("the load was ended")
					}
					return nil
				})
				got := ""
				if _, void := fault.IsVoid(err); void {
					got = err.Error()
				}
				if took := time.Since(begin); got != c.want || (err == nil) != (c.want == "") || took > c.most {
					t.Errorf("%v after %v, want %q", err, took, c.want)
				}
			})
		})
	}
}

// The study ends the second time in a row.
func TestGuardGivesUp(t *testing.T) {
	s := &serve.Services{Current: &serve.Running{Kind: service.Kind{Name: "stock"}, Instance: ailing{}}}
	none := func(context.Context) error { return nil }
	if _, void := fault.IsVoid(serve.Guard(t.Context(), s, none)); !void {
		t.Error("the first time is not void")
	}
	err := serve.Guard(t.Context(), s, none)
	if _, void := fault.IsVoid(err); void || err == nil || err.Error() != "service stock was in trouble twice in a row: osd.1 is full" {
		t.Errorf("the second time: %v", err)
	}
}
