package sim

import (
	"strings"
	"testing"

	"plimsoll/internal/parameter"
)

func TestPlantedThingsAreRead(t *testing.T) {
	for text, want := range map[string]effect{
		"sim.knob=on: +5%":           {"sim.knob", "on", false, .05},
		"sim.knob:x=a b: -2.5%":      {"sim.knob:x", "a b", false, -.025},
		"storage.block=4KiB: 3%":     {"storage.block", "4KiB", false, .03},
		"sim.knob=on: latency +10%":  {"sim.knob", "on", true, .1},
		"host.sysctl:vm.x=1: 2: -1%": {"host.sysctl:vm.x", "1: 2", false, -.01},
	} {
		got, err := parseEffect(text)
		if err != nil || got.factor != want.factor || got.level != want.level || got.latency != want.latency || got.change-want.change > 1e-12 || want.change-got.change > 1e-12 {
			t.Errorf("%q gives %+v, %v", text, got, err)
		}
	}
	if c, err := parseCounter("softirq.net: 1200 sim.knob=on +40%"); err != nil || c.name != "softirq.net" || c.value != 1200 || c.moved.factor != "sim.knob" || c.moved.change != .4 {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestMistakesInPlantedThings(t *testing.T) {
	for _, c := range []struct {
		settings parameter.Settings
		says     string
	}{
		{parameter.Settings{"effects": `["sim.knob: +5%"]`}, "sim.knob=on: +5%"},
		{parameter.Settings{"effects": `["sim.knob=on +5%"]`}, "is not like"},
		{parameter.Settings{"effects": `["sim.knob=on: 5"]`}, "is not like"},
		{parameter.Settings{"effects": `["sim.knob=on: -100%"]`}, "is not like"},
		{parameter.Settings{"effects": `["sim.knb=on: +5%"]`}, `did you mean "sim.knob"`},
		{parameter.Settings{"counters": `["x"]`}, "is not like"},
		{parameter.Settings{"counters": `["x: 0"]`}, "is not like"},
		{parameter.Settings{"counters": `[": 5"]`}, "is not like"},
		{parameter.Settings{"counters": `["x: 5 sim.knob +5%"]`}, "is not like"},
		{parameter.Settings{"counters": `["x: 5 a=b"]`}, "is not like"},
		{parameter.Settings{"drift": "-2"}, "drift"},
		{parameter.Settings{"service": "uniform"}, "exponential"},
		{parameter.Settings{"dip": "20%"}, "warmup"},
	} {
		_, err := Kind().Open(t.Context(), c.settings, 1)
		switch {
		case err == nil:
			t.Errorf("%v was taken", c.settings)
		case strings.Contains(err.Error(), "\n"):
			t.Errorf("%v: more than one line: %v", c.settings, err)
		case !strings.Contains(err.Error(), c.says):
			t.Errorf("%v: %v", c.settings, err)
		}
	}
}

func FuzzPlanted(f *testing.F) {
	f.Add("sim.knob=on: +5%")
	f.Add("sim.knob=on: latency -5%")
	f.Add("softirq.net: 1200 sim.knob=on +40%")
	f.Fuzz(func(t *testing.T, text string) {
		if e, err := parseEffect(text); err == nil && (e.factor == "" || e.change <= -1) {
			t.Errorf("%q gave %+v", text, e)
		}
		if c, err := parseCounter(text); err == nil && (!(c.value > 0) || c.name == "" || c.moved.change <= -1) {
			t.Errorf("%q gave %+v", text, c)
		}
	})
}
