package serve

import (
	"context"
	"errors"
	"testing"

	"plimsoll/internal/service"
)

// mortal is an instance that may have died.
type mortal struct {
	service.Instance
	of error
}

func (m mortal) Died() error { return m.of }

// A service that is known to have died is not taken for one that runs.
func TestAServiceThatDied(t *testing.T) {
	for want, i := range map[bool]service.Instance{true: mortal{}, false: mortal{of: errors.New("its machine is gone")}} {
		if got := (&Running{Instance: i}).lives(); got != want {
			t.Errorf("%+v lives: %v", i, got)
		}
	}
	if !(&Running{}).lives() {
		t.Error("one that does not tell counts as dead")
	}
	if (&Running{Instance: mortal{}, mute: true}).answers() || !(&Running{Instance: mortal{}}).answers() {
		t.Error("one that hangs is taken for one that serves, or one that serves is not")
	}
}

// asked is an instance that answers, or does not, and may be stopped.
type asked struct {
	service.Instance
	mute    error
	stopped *int
}

func (a asked) Counters(context.Context) (map[string]float64, error) { return nil, a.mute }

func (a asked) Stop(context.Context) error { *a.stopped++; return nil }

// At the end of a session that had trouble a service that hangs goes before what loads
// left in it; one that answers stays until that is removed.
func TestAServiceThatHangsAtTheEnd(t *testing.T) {
	still, trouble := errors.New("it does not answer"), errors.New("trouble")
	for _, c := range []struct {
		mute, trouble error
		stopped       int
	}{{still, trouble, 1}, {nil, trouble, 0}, {still, nil, 0}} {
		n := 0
		s := &Services{Current: &Running{Instance: asked{mute: c.mute, stopped: &n}}}
		if err := s.StopMute(t.Context(), c.trouble); err != nil || n != c.stopped || (s.Current == nil) != (n > 0) {
			t.Errorf("%+v: stopped %d times, %v", c, n, err)
		}
	}
	if err := (&Services{}).StopMute(t.Context(), trouble); err != nil {
		t.Error(err)
	}
}
