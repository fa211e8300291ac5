package trial

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/machines"
)

// shaken is a machine to which something happens.
type shaken struct {
	*machine
	pending string
	values  map[string]float64
	err     error
	shaken  chan struct{}
}

func (s *shaken) Pending() string { return s.pending }

func (s *shaken) Disturb(context.Context) (map[string]float64, error) {
	close(s.shaken)
	return s.values, s.err
}

func TestEventsHappenInTheMiddle(t *testing.T) {
	lost := errors.New("the machine is lost")
	for name, c := range map[string]struct {
		short       bool // the load ends before the middle
		event, load error
		want        string
	}{
		"well":           {},
		"short":          {short: true, want: "did not happen"},
		"event fails":    {event: lost, want: "is lost"},
		"load fails":     {load: errors.New("no answer"), want: "no answer"},
		"both fail":      {event: lost, load: errors.New("no answer"), want: "is lost\nno answer"},
		"fails too soon": {short: true, load: errors.New("no answer"), want: "no answer"},
	} {
		s := &Bench{Study: &study.Study{Measure: study.Measure{Warmup: 2 * time.Second, Window: 4 * time.Second}}}
		a := &attempt{session: &session{Bench: s, reporter: &reporter{}}, recorder: measure.NewRecorder(nil)}
		first := &shaken{pending: "a test", values: map[string]float64{"a": 1, "b": 5}, err: c.event, shaken: make(chan struct{})}
		second := &shaken{pending: "a test", values: map[string]float64{"a": 3, "b": 2}, shaken: make(chan struct{})}
		calm := &shaken{shaken: make(chan struct{})}
		for _, m := range []*shaken{calm, first, second} {
			a.crew = append(a.crew, &machines.Member{At: machines.Workspace{Machine: m}})
		}
		err := a.eventful(t.Context(), func() error {
			a.event.passed(3 * time.Second)
			select {
			case <-first.shaken:
				t.Errorf("%s: it happened before the middle", name)
			default:
			}
			if !c.short {
				for _, now := range []time.Duration{4, 5, 6} {
					a.event.passed(now * time.Second)
				}
				<-first.shaken
			}
			return c.load
		})
		if (err == nil) != (c.want == "") || err != nil && !strings.HasSuffix(err.Error(), c.want) && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
		if v := a.recorder.Values(); !c.short && (v["a"] != 3 || v["b"] != 5) {
			t.Errorf("%s: got %v, want the worst of each", name, v)
		}
		select {
		case <-calm.shaken:
			t.Errorf("%s: it happened to a machine for which nothing was pending", name)
		default:
		}
	}
}

func TestALoadWithoutAnEventIsALoad(t *testing.T) {
	a := &attempt{crew: machines.Set{{At: machines.Workspace{Machine: &machine{}}}, {At: machines.Workspace{Machine: &shaken{}}}}}
	lost := errors.New("lost")
	if err := a.eventful(t.Context(), func() error { return lost }); err != lost || a.event != nil {
		t.Errorf("%v, %v", err, a.event)
	}
	a.event.passed(time.Hour)
}
