package file

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/hoststat/energy"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/study"
	"plimsoll/internal/study/timing"
)

func TestMeasureEnergy(t *testing.T) {
	for text, want := range map[string]study.Energy{
		"{file: /run/watts}": {File: "/run/watts", Unit: "W", Every: time.Second},
		"{file: '/sys/class/hwmon/hwmon*/power1_average', unit: uW, every: 500ms}":           {File: "/sys/class/hwmon/hwmon*/power1_average", Unit: "uW", Every: 500 * time.Millisecond},
		"{command: 'pdu 4 | tail -1', unit: kWh, covers: the server at the wall, every: 1m}": {Command: "pdu 4 | tail -1", Unit: "kWh", Covers: "the server at the wall", Every: time.Minute},
	} {
		s := parse(t, head+"measure: {energy: "+text+", window: 5s}\nheadline: [iops, operations_per_joule]\nlimits: {power: {max: 200}}\n")
		if d := cmp.Diff(&want, s.Measure.Energy); d != "" || s.Measure.Window != 5*time.Second {
			t.Errorf("%s: %s, window %v", text, d, s.Measure.Window)
		}
	}
	s := parse(t, head+"measure: {window: 5s}\n", "measure.energy.file=/w", "measure.energy.unit=mW", "measure.blocks=9")
	if e := s.Measure.Energy; e == nil || e.File != "/w" || e.Unit != "mW" || s.Measure.Blocks != 9 {
		t.Errorf("overrides: %+v, %+v", s.Measure, e)
	}
	if s = parse(t, head+"measure: {window: 5s}\n"); s.Measure.Energy != nil || s.DecidedByEnergy() != "" {
		t.Errorf("without: %+v", s.Measure.Energy)
	}
}

func TestMistakesOfMeasureEnergy(t *testing.T) {
	for text, want := range map[string]string{
		"{}":                             "name a file or a command",
		"{unit: W}":                      "name a file or a command",
		"{file: /a, command: b}":         "file and command are mutually exclusive",
		"{file: watts}":                  `"watts" is not an absolute path`,
		"{file: '/a[b'}":                 "is not a valid pattern",
		"{file: /a, unit: BTU}":          `"BTU" is not one of W, mW, uW, J, uJ, Wh, kWh`,
		"{file: /a, every: 100ms}":       "at least 500ms",
		"{file: /a, every: 2h}":          "at most 1h",
		"{file: /a, ever: 1s}":           `unknown key "ever"; did you mean "every"?`,
		"{file: [a, b]}":                 "file must be a single value",
		"/run/watts":                     "must be a mapping",
		"{file: /a}, energy: {file: /b}": `duplicate key "energy"`,
		"{file: /a}, windw: 5s":          `did you mean "window"?`,
		"{file: /a}, enery: {file: /b}":  `did you mean "energy"?`,
	} {
		_, err := Parse("test.yaml", []byte(head+"measure: {energy: "+text+"}\n"), testCatalog(), nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "test.yaml:5:") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		head + "load: {peak: {within: {p99: 1ms}}}\nmeasure: {energy: {file: /a}}\n":   "a search has no metrics of energy",
		head + "load: {peak: {within: {p99: 1ms}}}\nheadline: [peak, power]\n":         "power is not measured in virtual time, by a search",
		strings.Replace(head, "local", "vsim", 1) + "measure: {energy: {file: /a}}\n":  "platform vsim is simulated in virtual time",
		strings.Replace(head, "local", "vsim", 1) + "headline: operations_per_joule\n": "operations_per_joule is not measured in virtual time",
	} {
		if _, err := Parse("test.yaml", []byte(text), virtualCatalog(), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// virtualCatalog has a platform in virtual time besides.
func virtualCatalog() *study.Catalog {
	c := testCatalog()
	virtual := c.Platforms[1]
	virtual.Name, virtual.Virtual = "vsim", true
	c.Platforms = append(c.Platforms, virtual)
	return c
}

// What may decide a study by energy is found, whatever key names it.
func TestDecidedByEnergy(t *testing.T) {
	for text, want := range map[string]string{
		"headline: [iops, power]":                                 "power",
		"limits: {operations_per_joule: {min: 3}}":                "operations_per_joule",
		"goal: {most: operations_per_joule}":                      "operations_per_joule",
		"goal: {most: iops, floor: {operations_per_joule: 3}}":    "operations_per_joule",
		"goal: {most: iops, floor: {p99: 3ms}}\nheadline: [iops]": "",
	} {
		if got := parse(t, head+text+"\n").DecidedByEnergy(); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// The units that a study may name are those that can be read.
func TestUnitsOfEnergy(t *testing.T) {
	f, _ := parameter.Find(timing.EnergySource(), "unit")
	if got := strings.Join(f.Choices, ", "); got != energy.UnitNames() {
		t.Errorf("a study may name %s, and read are %s", got, energy.UnitNames())
	}
	if all := measure.EnergyMetrics(true); len(all) != 2 {
		t.Errorf("tiles have %v", all)
	}
}
