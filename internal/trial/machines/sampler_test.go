package machines

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/collect"
	"plimsoll/internal/measure"
)

func source(read collect.Read) collect.Source {
	return collect.Source{
		Name: "clock",
		Counters: []collect.Counter{
			{Metric: measure.Metric{Name: "grows"}, Cumulative: true},
			{Metric: measure.Metric{Name: "level"}},
		},
		Open: func(context.Context, collect.Env) (collect.Read, error) { return read, nil },
	}
}

func TestSamplerCountsTheWindowOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		s := openSampler(t.Context(), []collect.Source{source(func(context.Context) (map[string]float64, error) {
			at := time.Since(start).Seconds()
			// 100/s during the first four seconds, 10/s after.
			return map[string]float64{"grows": 100*min(at, 4) + 10*max(0, at-4), "level": at}, nil
		})}, collect.Env{})
		s.begin(t.Context(), 100*time.Millisecond)
		<-time.After(10 * time.Second) // virtual
		s.end(t.Context())
		if n := len(s.samples); n < 20 || n > 22 {
			t.Errorf("%d samples in 10 s, want one every 500 ms", n)
		}
		for _, test := range []struct{ cut, end, grows, level float64 }{{0, 10, 46, 5}, {4, 10, 10, 7}, {0, 4, 100, 2.25}} {
			got := s.Over(measure.Window{Cut: test.cut, End: test.end})
			if math.Abs(got["grows"]-test.grows) > 11 || math.Abs(got["level"]-test.level) > .3 {
				t.Errorf("from %g to %g: %v, want %g and %g", test.cut, test.end, got, test.grows, test.level)
			}
		}
	})
}

// A source that is slow to read is read less often.
func TestSamplingIsCheap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		s := openSampler(t.Context(), []collect.Source{source(func(context.Context) (map[string]float64, error) {
			reads++
			<-time.After(20 * time.Millisecond) // virtual
			return nil, nil
		})}, collect.Env{})
		s.begin(t.Context(), 100*time.Millisecond)
		<-time.After(60 * time.Second)
		s.end(t.Context())
		if spent := float64(reads) * .02 / 60; spent > 1.5*SampleShare {
			t.Errorf("%d reads take %.2g of the time, want at most %g", reads, spent, SampleShare)
		}
	})
}

func TestSourceThatBreaksIsMissingOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openSampler(t.Context(), []collect.Source{source(func(context.Context) (map[string]float64, error) {
			return nil, errors.New("gone")
		})}, collect.Env{})
		s.begin(t.Context(), time.Second)
		<-time.After(10 * time.Second)
		s.end(t.Context())
		if len(s.Missing) != 1 || s.Missing[0] != "clock: gone" {
			t.Errorf("missing %q", s.Missing)
		}
		if got := s.Over(measure.Window{End: 10}); len(got) != 0 {
			t.Errorf("counters %v of a source that cannot be read", got)
		}
	})
}

// A counter that was reset has no rate.
func TestCounterThatShrinks(t *testing.T) {
	s := &Sampler{counter: map[string]collect.Counter{"n": {Metric: measure.Metric{Name: "n"}, Cumulative: true}}}
	s.samples = []sample{{0, map[string]float64{"n": 9}}, {time.Second, map[string]float64{"n": 2}}}
	if v, ok := s.Over(measure.Window{End: 2})["n"]; ok {
		t.Errorf("rate %g", v)
	}
}

// A window between two samples takes the one before it.
func TestShortWindow(t *testing.T) {
	s := &Sampler{counter: map[string]collect.Counter{"n": {Metric: measure.Metric{Name: "n"}, Cumulative: true}}}
	for i := range 4 {
		s.samples = append(s.samples, sample{time.Duration(i) * time.Second, map[string]float64{"n": float64(i * i)}})
	}
	if v := s.Over(measure.Window{Cut: 1.5, End: 2})["n"]; v != 3 {
		t.Errorf("rate %g, want 3", v)
	}
}

// Where reading is slow a window may hold one sample, or none. The record says so, and of
// which counters; a machine that lacks one has it missing all along.
func TestSeldomRead(t *testing.T) {
	s := &Sampler{counter: map[string]collect.Counter{
		"n": {Metric: measure.Metric{Name: "n"}, Cumulative: true}, "lacking": {Metric: measure.Metric{Name: "lacking"}, Cumulative: true},
	}}
	for _, at := range []time.Duration{0, 40 * time.Second, 67 * time.Second} {
		s.samples = append(s.samples, sample{at, map[string]float64{"n": at.Seconds()}})
	}
	for _, c := range []struct {
		cut   float64
		lead  time.Duration
		times int
		names []string
	}{{50, 0, 0, []string{"n"}}, {50, 3 * time.Second, 1, nil}, {16, 0, 1, nil}} {
		s.lead = c.lead
		if names, times := s.Seldom(measure.Window{Cut: c.cut, End: 64}); times != c.times || !slices.Equal(names, c.names) {
			t.Errorf("from %g s on, the load begins after %s: %q, %d times; want %q, %d", c.cut, c.lead, names, times, c.names, c.times)
		}
	}
}
