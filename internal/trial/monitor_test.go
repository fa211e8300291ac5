package trial

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/collect"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/study"
)

// gauge is a monitor of a test. Its samples are of the window that it is asked for.
type gauge struct {
	opened, closed int
	refused        error
	asked          []measure.Window
}

func (g *gauge) Over(_ context.Context, began time.Time, w measure.Window) (collect.Sampled, error) {
	if g.asked = append(g.asked, w); len(g.asked) == 2 {
		return collect.Sampled{}, errors.New("no answer")
	}
	if since := time.Since(began); since < 0 || since > time.Minute {
		return collect.Sampled{}, errors.New("the load began at another time")
	}
	return collect.Sampled{Counters: map[string]float64{"gauge.level": 7}, Missing: []string{"a gap"}, Table: []byte("time_s\n")}, nil
}

func (g *gauge) Close() error { g.closed++; return nil }

func (g *gauge) kind() collect.Monitor {
	return collect.Monitor{Name: "gauge", Metrics: []measure.Metric{{Name: "gauge.level", Unit: "1"}}, New: func(parameter.Settings) (collect.Monitored, error) {
		return collect.Monitored{Own: true, Open: func(context.Context, load.Endpoint) (collect.MonitorReader, error) {
			if g.refused != nil {
				return nil, g.refused
			}
			g.opened++
			return g, nil
		}}, nil
	}}
}

func TestAMonitorIsReadForEachTrial(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	r, g, s := newRig(t), &gauge{}, exampleStudy()
	s.Monitor = &study.Use{Kind: "gauge"}
	b := r.bench(t, s, 1)
	b.Catalog.Monitors = []collect.Monitor{g.kind()}
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	records := r.records(t)
	if len(records) != 4 || len(g.asked) != 4 || g.opened != g.closed || g.opened != 5 { // and once before the study
		t.Fatalf("%d records, %d questions, opened %d times and closed %d times", len(records), len(g.asked), g.opened, g.closed)
	}
	for i, rec := range records {
		v, has := rec.Counters["gauge.level"]
		says := "monitor gauge: a gap"
		if i == 1 {
			says = "monitor gauge: no answer"
		}
		if !rec.Valid() || has == (i == 1) || has && v != 7 || !slices.Contains(rec.Missing, says) || (rec.Files["monitor.csv"] != "") != has {
			t.Errorf("trial %d: void %q, counters %v, missing %q, files %v", i+1, rec.Void, rec.Counters, rec.Missing, rec.Files)
		}
		if g.asked[i] != rec.Window {
			t.Errorf("trial %d: asked for the window %v, not %v", i+1, g.asked[i], rec.Window)
		}
	}
}

// A monitor that cannot be reached is found before anything is changed.
func TestAMonitorThatIsRefused(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	r, g, s := newRig(t), &gauge{refused: errors.New("refused the login")}, exampleStudy()
	s.Monitor = &study.Use{Kind: "gauge"}
	b := r.bench(t, s, 1)
	b.Catalog.Monitors = []collect.Monitor{g.kind()}
	if err := b.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "monitor gauge: refused the login") || r.hooks.runs > 0 {
		t.Errorf("%v after %d loads", err, r.hooks.runs)
	}
	r.atFormer(t)
}
