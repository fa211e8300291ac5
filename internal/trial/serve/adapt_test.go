package serve

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/plan"
	"plimsoll/internal/service"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/fault"
	"plimsoll/internal/trial/machines"
)

// chameleon is an instance that takes on settings, or does not.
type chameleon struct {
	mortal
	taken []parameter.Settings
	fails error
}

func (c *chameleon) Adapt(_ context.Context, settings parameter.Settings) error {
	c.taken = append(c.taken, settings)
	return c.fails
}

type shades struct {
	Colour string `name:"colour" doc:"what it looks like"`
	Size   string `name:"size" doc:"how large it is"`
}

// varied is a study whose service runs, and takes on its colour.
func varied(parameterName string, levels ...string) (*Services, *chameleon) {
	kind := service.Define(service.Kind{Name: "chameleon", Doc: "sits", Speaks: []string{"shelf"}, Adapts: []string{"colour"}}, shades{},
		func(shades) (service.Service, error) { return far{}, nil })
	i := &chameleon{}
	s := &Services{
		Study: &study.Study{
			Service: &study.Use{Kind: kind.Name},
			Factors: []study.Factor{{Name: "chameleon." + parameterName, Parameter: parameterName, Levels: levels, OfService: true}},
		},
		Machines: &machines.Inventory{Catalog: &study.Catalog{Services: []service.Kind{kind}}},
		Current:  &Running{Kind: kind, Instance: i, settings: parameter.Settings{parameterName: levels[0]}},
	}
	return s, i
}

// A setting that a running service takes on is not a reason for a fresh one; any other is.
func TestSettingsThatAServiceTakesOn(t *testing.T) {
	for name, renews := range map[string]bool{"colour": false, "size": true} {
		if s, _ := varied(name, "a", "b"); s.Renews() != renews {
			t.Errorf("%s: a fresh service for each trial: %v", name, s.Renews())
		}
	}
	s, i := varied("colour", "green", "red")
	arm := func(level string) plan.Arm { return plan.Arm{Levels: map[string]string{"chameleon.colour": level}} }
	for _, level := range []string{"green", "red", "red", "green"} {
		if err := s.Start(t.Context(), arm(level), nil, 1); err != nil {
			t.Fatal(err)
		}
	}
	if len(i.taken) != 2 || !maps.Equal(i.taken[0], parameter.Settings{"colour": "red"}) || !maps.Equal(i.taken[1], parameter.Settings{"colour": "green"}) {
		t.Errorf("it took on %v", i.taken)
	}
}

// A service that does not take on settings makes the trial void and is replaced; the second time in a row the study ends.
func TestAServiceThatDoesNotAdapt(t *testing.T) {
	s, i := varied("colour", "green", "red")
	i.fails = errors.New("it is asleep")
	arm := plan.Arm{Levels: map[string]string{"chameleon.colour": "red"}}
	_, void := fault.IsVoid(s.Start(t.Context(), arm, nil, 1))
	if !void || s.Current.answers() {
		t.Errorf("void %v; it is kept: %v", void, s.Current.answers())
	}
	s.Current.mute = false // as a fresh one
	if err := s.Start(t.Context(), arm, nil, 1); err == nil || err.Error() != "service chameleon could not be started twice in a row: it is asleep" {
		t.Errorf("the second time: %v", err)
	}
}

// filter is an instance that works on after a load for some queries, and counts.
type filter struct {
	mortal
	busy    int
	unknown bool
	counted map[string]float64
	pending string
}

func (f *filter) Unsettled(context.Context) (string, bool, error) {
	if f.busy--; f.busy >= 0 {
		return "a filter", true, nil
	}
	return "", !f.unknown, nil
}

func (f *filter) Counters(context.Context) (map[string]float64, error) { return f.counted, nil }
func (f *filter) Pending() string                                      { return f.pending }
func (f *filter) Disturb(context.Context) (map[string]float64, error)  { return nil, nil }

// What a service does after a load is counted until it is settled, and left out where that is not known.
func TestDrain(t *testing.T) {
	kind := service.Kind{Drained: []service.Ratio{{Metric: measure.Metric{Name: "drained"}, Of: "out", Per: []string{"in"}}}}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	for name, c := range map[string]struct {
		*filter
		ctx  context.Context
		want map[string]float64
	}{
		"settled":       {&filter{}, t.Context(), map[string]float64{"drained": 2.5}},
		"after a while": {&filter{busy: 1}, t.Context(), map[string]float64{"drained": 2.5}},
		"never":         {&filter{busy: 1 << 30}, short, map[string]float64{}},
		"unknown":       {&filter{unknown: true}, t.Context(), map[string]float64{}},
		"disturbed":     {&filter{pending: "kill of one"}, t.Context(), map[string]float64{}},
	} {
		c.counted = map[string]float64{"in": 30, "out": 60}
		s := &Services{Current: &Running{Kind: kind, Instance: c.filter, before: map[string]float64{"in": 10, "out": 10}}}
		record := &measure.Record{Counters: map[string]float64{}}
		if s.Drain(c.ctx, record); !maps.Equal(record.Counters, c.want) {
			t.Errorf("%s: got %v", name, record.Counters)
		}
	}
	(&Services{}).Drain(t.Context(), &measure.Record{})
}
