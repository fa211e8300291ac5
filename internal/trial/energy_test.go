package trial

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/machines"
)

// metered is a study of one arm whose intervals take as long as they say, with the energy of a file.
func (r *rig) metered(own *study.Energy) *study.Study {
	s := exampleStudy()
	s.Factors = s.Factors[2:3]
	s.Measure = study.Measure{Window: 200 * time.Millisecond, Longest: 200 * time.Millisecond, Interval: 20 * time.Millisecond, Energy: own}
	var began time.Time
	r.hooks.during = func(i int) {
		if i == 0 {
			began = time.Now()
		}
		<-time.After(time.Until(began.Add(time.Duration(i+1) * s.Measure.Interval)))
	}
	return s
}

// source is a file with a number, read often.
func (r *rig) source(t *testing.T, text, unit string) *study.Energy {
	t.Helper()
	name := filepath.Join(r.root, "power")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return &study.Energy{File: name, Unit: unit, Covers: "the rack", Every: time.Millisecond}
}

func TestEnergyOfAFile(t *testing.T) {
	r := newRig(t)
	own := r.source(t, "50\n", "W")
	record := r.run(t, r.metered(own), 1)[0]
	seconds, rate := record.Window.End-record.Window.Cut, record.Values["ops"]
	for name, want := range map[string]float64{measure.Power: 50, measure.Energy: 50 * seconds, measure.OperationsPerJoule: rate / 50} {
		if got, known := record.Values[name]; !known || math.Abs(got/want-1) > 1e-9 || want <= 0 {
			t.Errorf("%s: %g, %v, want %g", name, got, known, want)
		}
	}
	check(t, &record, measure.EnergyCheck, measure.Pass)
	if last := record.Checks[len(record.Checks)-1]; last.Name != measure.EnergyCheck || !strings.HasSuffix(last.Detail, " readings of "+own.File+": the rack") {
		t.Errorf("the certificate says %+v", last)
	}
}

// A command counts joules: what it prints grows by 2 J with each call, and the calls take the time of the window.
func TestEnergyOfACommand(t *testing.T) {
	r := newRig(t)
	state := filepath.Join(r.root, "joules")
	own := &study.Energy{Command: "echo x >>" + state + "; wc -c <" + state, Unit: "J", Every: time.Millisecond}
	s := r.metered(own)
	s.Headline = []string{measure.OperationsPerJoule}
	record := r.run(t, s, 1)[0]
	watts, joules := record.Values[measure.Power], record.Values[measure.Energy]
	if !(watts > 0) || math.Abs(joules/watts-(record.Window.End-record.Window.Cut)) > 1e-9 || record.Void != "" {
		t.Errorf("%g W, %g J, void %q", watts, joules, record.Void)
	}
	if text, err := os.ReadFile(state); err != nil || joules > float64(len(text)) {
		t.Errorf("%g J of %d, %v", joules, len(text), err)
	}
}

// A source that fails during a trial leaves no number, and the trial void where energy decides.
func TestEnergyThatFails(t *testing.T) {
	for _, c := range []struct {
		headline, becomes, unit, want string
		state                         measure.State
	}{
		{"ops", "broken\n", "W", "expected a number in W, got \"broken\"", measure.Unknown},
		{measure.Power, "broken\n", "W", "expected a number in W, got \"broken\"", measure.Fail},
		{measure.OperationsPerJoule, "20\n", "J", "ran backwards, from 50 J to 20 J", measure.Fail},
		{measure.Energy, "50\n", "J", "it showed no energy in the window", measure.Fail},
	} {
		r := newRig(t)
		own := r.source(t, "50\n", c.unit)
		s := r.metered(own)
		paced := r.hooks.during
		r.hooks.during = func(i int) {
			if i == 3 {
				r.source(t, c.becomes, c.unit)
			}
			paced(i)
		}
		s.Headline = []string{c.headline}
		record := r.run(t, s, 1)[0]
		check(t, &record, measure.EnergyCheck, c.state)
		last := record.Checks[len(record.Checks)-1]
		if _, known := record.Values[measure.Power]; known || !strings.Contains(last.Detail, c.want) {
			t.Errorf("%s: %v, %+v, want %q", c.headline, record.Values[measure.Power], last, c.want)
		}
		if void := strings.HasPrefix(record.Void, "energy: "); void != (c.state == measure.Fail) {
			t.Errorf("%s: void %q", c.headline, record.Void)
		}
	}
}

// The energy of this host is not that of a machine elsewhere.
func TestNoEnergyOfAMachineElsewhere(t *testing.T) {
	r := newRig(t)
	s := r.metered(nil)
	record := r.run(t, s, 1)[0]
	for _, m := range measure.EnergyMetrics(false) {
		if v, known := record.Values[m.Name]; known {
			t.Errorf("%s: %g without a source", m.Name, v)
		}
	}
	for _, c := range record.Checks {
		if c.Name == measure.EnergyCheck {
			t.Errorf("without a source: %+v", c)
		}
	}
	s.Limits = []study.Limit{{Metric: measure.Power}}
	_, err := newRig(t).bench(t, s, 1).Check(t.Context())
	if err == nil || !strings.Contains(err.Error(), "metric power: fake is not on this host, whose energy plimsoll reads: name a source in measure.energy") {
		t.Errorf("got %v", err)
	}
}

// A source that shows nothing is refused before the study, and a command is announced.
func TestEnergyIsCheckedBefore(t *testing.T) {
	for command, want := range map[string]string{"echo much": "measure.energy: the command of measure.energy: expected a number", "exit 4": "exit status 4", "echo 5": ""} {
		r := newRig(t)
		needs, err := r.bench(t, r.metered(&study.Energy{Command: command, Unit: "W", Every: 2 * time.Second}), 1).Check(t.Context())
		switch {
		case want == "" && (err != nil || len(needs.Changes) != 1 || needs.Changes[0] != "runs `echo 5` here every 2s for the energy"):
			t.Errorf("%s: %+v, %v", command, needs, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", command, err, want)
		}
	}
	r := newRig(t)
	if _, err := r.bench(t, r.metered(&study.Energy{File: r.root + "/none", Unit: "BTU"}), 1).Check(t.Context()); err == nil || !strings.Contains(err.Error(), `unknown unit "BTU"`) {
		t.Errorf("got %v", err)
	}
}

// The certificate of a search for tiles names the source of its score per kilowatt, or why there is none.
func TestEnergyOfASearch(t *testing.T) {
	r := newRig(t)
	source, err := machines.OpenEnergy(t.Context(), os.DirFS(r.root), r.source(t, "50\n", "W"))
	if err != nil {
		t.Fatal(err)
	}
	energy := source.Follow(t.Context())
	energy.End(t.Context())
	scored := map[string]float64{measure.Score: 2, measure.KilowattScore: 40}
	for name, c := range map[string]struct {
		energy   *machines.Energy
		values   map[string]float64
		headline string
		state    measure.State // empty for no check
		cause    string
	}{
		"no source":    {nil, map[string]float64{measure.Score: 2}, "tiles", "", ""},
		"no score":     {energy, map[string]float64{}, "tiles", "", ""},
		"known":        {energy, scored, measure.KilowattScore, measure.Pass, ""},
		"unknown":      {energy, map[string]float64{measure.Score: 2}, "tiles", measure.Unknown, ""},
		"that decides": {energy, map[string]float64{measure.Score: 2}, measure.KilowattScore, measure.Fail, "energy: the power of no load with that number of tiles is known"},
	} {
		s := exampleStudy()
		s.Load.Growth, s.Headline = &study.Growth{Unit: study.TileUnit}, []string{c.headline}
		a := &attempt{study: s, energy: c.energy, record: &measure.Record{Values: c.values}}
		cause := metering{a}.enter()
		if cause != c.cause || (c.state == "") != (len(a.settled) == 0) || len(a.settled) > 0 && a.settled[0].State != c.state {
			t.Errorf("%s: cause %q, checks %+v", name, cause, a.settled)
		}
	}
}
