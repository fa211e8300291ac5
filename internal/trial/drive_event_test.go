package trial_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/platform"
	"plimsoll/internal/trial/drive"
	"plimsoll/internal/trial/machines"
)

// shaken is a machine to which something happens.
type shaken struct {
	platform.Machine
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
		var all machines.Set
		out := measure.NewRecorder(nil)
		first := &shaken{pending: "a test", values: map[string]float64{"a": 1, "b": 5}, err: c.event, shaken: make(chan struct{})}
		second := &shaken{pending: "a test", values: map[string]float64{"a": 3, "b": 2}, shaken: make(chan struct{})}
		calm := &shaken{shaken: make(chan struct{})}
		for _, m := range []*shaken{calm, first, second} {
			all = append(all, &machines.Member{At: machines.Workspace{Machine: m}})
		}
		began := time.Now()
		e := drive.NewEvent(all, nil, 4*time.Second, func(string) {})
		err := e.During(t.Context(), out, func() error {
			e.Passed(3 * time.Second)
			select {
			case <-first.shaken:
				t.Errorf("%s: it happened before the middle", name)
			default:
			}
			if !c.short {
				for _, now := range []time.Duration{4, 5, 6} {
					e.Passed(now * time.Second)
				}
				<-first.shaken
			}
			return c.load
		})
		if (err == nil) != (c.want == "") || err != nil && !strings.HasSuffix(err.Error(), c.want) && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
		if v := out.Values(); !c.short && (v["a"] != 3 || v["b"] != 5) {
			t.Errorf("%s: got %v, want the worst of each", name, v)
		}
		if all := e.Happened(began); len(all) > 1 || (len(all) == 1) == c.short || !c.short && (all[0].From < 0 || all[0].To < all[0].From || all[0].Name != "a test") {
			t.Errorf("%s: on the course of the host: %+v", name, all)
		}
		select {
		case <-calm.shaken:
			t.Errorf("%s: it happened to a machine for which nothing was pending", name)
		default:
		}
	}
}

func TestALoadWithoutAnEventIsALoad(t *testing.T) {
	e := drive.NewEvent(machines.Set{{At: machines.Workspace{}}, {At: machines.Workspace{Machine: &shaken{}}}}, nil, time.Second, nil)
	lost := errors.New("lost")
	if err := e.During(t.Context(), nil, func() error { return lost }); err != lost || e != nil {
		t.Errorf("%v, %v", err, e)
	}
	if e.Passed(time.Hour); e.Happened(time.Now()) != nil {
		t.Error("no event has happened")
	}
}
