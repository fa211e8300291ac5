package trial

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/service"
	"plimsoll/internal/trial/fault"
	"plimsoll/internal/trial/serve"
)

func TestSettleWaitsAndCanBeInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := exampleStudy()
		st.Measure.Settle = time.Minute
		a := &attempt{study: st, session: &session{services: &serve.Services{}, reporter: &reporter{}}}
		start := time.Now()
		if err := a.settle(t.Context()); err != nil || time.Since(start) != time.Minute {
			t.Errorf("settled for %v, %v", time.Since(start), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		if err := a.settle(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("interrupted after %v, %v", time.Since(start), err)
		}
	})
}

// busy is a service that has something to do for a while.
type busy struct {
	service.Instance
	until time.Time
	err   error
}

func (b busy) Unsettled(context.Context) (string, bool, error) {
	if time.Now().Before(b.until) {
		return "3 compactions", true, nil
	}
	return "", b.err == nil, b.err
}

func TestSettleWaitsForTheService(t *testing.T) {
	for name, c := range map[string]struct {
		busy  time.Duration
		err   error
		took  time.Duration
		state measure.State
		void  string
	}{
		"at rest":    {state: measure.Pass},
		"a minute":   {busy: time.Minute, took: time.Minute, state: measure.Pass},
		"for ever":   {busy: time.Hour, took: serve.MostUnsettled, state: measure.Fail, void: "settled: service stock was still at work after 10m0s, without any load: 3 compactions"},
		"it is gone": {busy: time.Second, took: time.Second, err: errors.New("gone"), void: "query whether service stock is idle: gone"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told []string
				none := func() time.Duration { return 0 }
				report := &reporter{left: none, soonest: none, hand: func(e Event) { told = append(told, e.Note) }}
				s := &session{reporter: report}
				s.services = &serve.Services{Current: &serve.Running{Kind: service.Kind{Name: "stock"}, Instance: busy{until: time.Now().Add(c.busy), err: c.err}}}
				a := &attempt{study: exampleStudy(), session: s, record: &measure.Record{}}
				begin := time.Now()
				err := a.settle(t.Context())
				_, voids := fault.IsVoid(err)
				if time.Since(begin) != c.took || (err != nil) != (c.void != "") || err != nil && (!voids || err.Error() != c.void) {
					t.Errorf("after %v: %v", time.Since(begin), err)
				}
				var checks []measure.Check
				if checks = append(checks, a.settled...); err != nil {
					checks = append(checks, a.record.Checks...)
				}
				if c.state == "" && len(checks) > 0 || c.state != "" && (len(checks) != 1 || checks[0].State != c.state) {
					t.Errorf("the certificate has %+v", checks)
				}
				if want := min(1, int(c.busy)); len(told) != want || want > 0 && !strings.Contains(told[0], "3 compactions") {
					t.Errorf("said %q", told)
				}
			})
		})
	}
}
