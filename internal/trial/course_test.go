package trial

import (
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/platform"
)

func TestTimeThatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &schedule{study: exampleStudy(), rest: 3}
		began := time.Now()
		s.records = []measure.Record{{Start: began, End: began.Add(time.Minute)}}
		for _, c := range []struct{ ago, want time.Duration }{{0, 3 * time.Minute}, {20 * time.Second, 160 * time.Second}, {time.Hour, 61 * time.Minute}} {
			s.trialBegan = time.Now().Add(-c.ago)
			if got := s.left(); got != c.want {
				t.Errorf("%s after the trial began %s are left", c.ago, got)
			}
		}
		if s.trialBegan = (time.Time{}); s.left() != 3*time.Minute {
			t.Errorf("between trials %s are left", s.left())
		}
	})
}

// A trial that died at once says nothing of how long the others take.
func TestVoidTrialsTellNoTime(t *testing.T) {
	s := &schedule{study: exampleStudy(), rest: 1}
	asked, began := s.typical(), time.Now()
	s.records = []measure.Record{{Start: began, End: began.Add(asked / 100), Void: "it died"}}
	if got := s.typical(); got != asked {
		t.Errorf("after a trial that died at once one takes %s, want the %s that are asked for", got, asked)
	}
	s.records = append(s.records, measure.Record{Start: began, End: began.Add(3 * asked), Void: "it drifts"})
	if got := s.typical(); got != 3*asked {
		t.Errorf("after one that took its time one takes %s, want %s", got, 3*asked)
	}
}

// What is left does not grow when a trial ends that took long, but while it takes long; and
// preparing, which the first one does, counts.
func TestTimeThatIsLeftAfterALongTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := steadyStudy()
		p := planOf(st, 2)
		s := &schedule{study: st, arms: len(p.Arms), preparing: 20 * time.Second, course: p.Begin()}
		next, _ := s.next()
		trials := s.rest
		if trials < 3 {
			t.Fatalf("%d trials are too few for this test", trials)
		}
		var told []time.Duration
		report := &reporter{left: s.left, soonest: s.soonest, hand: func(e Event) { told = append(told, e.Left) }}
		each := s.typical()
		if want := time.Duration(trials)*each + s.preparing; s.left() != want {
			t.Errorf("at first %s are left, want %s", s.left(), want)
		}
		s.trialBegan = time.Now()
		began := s.trialBegan
		<-time.After(10 * time.Second) // virtual
		if want := time.Duration(trials)*each + s.preparing - 10*time.Second; s.left() != want {
			t.Errorf("10 s later %s are left, want %s", s.left(), want)
		}
		<-time.After(130 * time.Second)
		report.say(PhaseMeasure, 0, "")
		s.took(&measure.Record{Trial: next.Number, Block: next.Block, Arm: next.Arm, Start: began, End: time.Now()})
		report.judged(&measure.Record{}, measure.Metric{})
		s.next()
		report.say(PhaseApply, 0, "")
		most := time.Duration(trials-1) * 140 * time.Second
		if len(told) != 3 || told[1] != most || told[2] != most || told[0] > most || told[0] < most*4/5 {
			t.Errorf("at the end of a first trial of 140 s, when it was judged, and when the next began, %v are left, want %s", told, most)
		}
	})
}

// A first trial that takes long to prepare does not stretch the forecast of the others,
// neither meanwhile nor afterwards.
func TestPreparingOnceStretchesNoForecast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &schedule{study: exampleStudy(), rest: 10, preparing: time.Second}
		each, began := s.typical(), time.Now()
		s.trialBegan = began
		ready := s.timePreparing(1)
		<-time.After(2 * time.Minute) // virtual
		if want := 9 * each; s.left() != want {
			t.Errorf("while the first trial is prepared %s are left, want %s", s.left(), want)
		}
		ready()
		if want := 10 * each; s.left() != want {
			t.Errorf("when it is ready %s are left, want %s", s.left(), want)
		}
		<-time.After(each)
		s.records = []measure.Record{{Trial: 1, Start: began, End: time.Now()}}
		s.trialBegan, s.rest = time.Time{}, 9
		if want := 9 * each; s.left() != want {
			t.Errorf("when it ended %s are left, want %s", s.left(), want)
		}
		s.timePreparing(2)()
		s.records = append(s.records, measure.Record{Trial: 2, Start: began, End: began.Add(each + time.Second)})
		if got := s.recent(); got[1] != each {
			t.Errorf("the first of two trials took %s, want %s", got[1], each)
		}
	})
}

// One trial that took long does not stretch the forecast, and of two the shorter counts,
// since the first one prepares.
func TestTypicalTrialIsTheMedian(t *testing.T) {
	began := time.Now()
	s := &schedule{study: exampleStudy(), rest: 1}
	for _, c := range []struct{ took, want time.Duration }{{9 * time.Minute, 9 * time.Minute}, {time.Minute, time.Minute}, {2 * time.Minute, 2 * time.Minute}, {time.Hour, 2 * time.Minute}} {
		s.records = append(s.records, measure.Record{Start: began, End: began.Add(c.took)})
		if got := s.typical(); got != c.want {
			t.Errorf("after %d trials one takes %s, want %s", len(s.records), got, c.want)
		}
	}
}

type noSimulator struct{ platform.Simulator }

// In virtual time the forecast is of the clock on the wall.
func TestTimeThatIsLeftOfASimulation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &schedule{study: exampleStudy(), sim: noSimulator{}, began: time.Now(), rest: 10, least: 4}
		if s.left() != 0 || s.soonest() != 0 {
			t.Errorf("before the first trial %s are left", s.left())
		}
		<-time.After(2 * time.Second)
		hour := measure.Record{Start: time.Now(), End: time.Now().Add(time.Hour)}
		s.records = []measure.Record{hour, hour}
		if s.left() != 10*time.Second || s.soonest() != 4*time.Second {
			t.Errorf("after two trials in 2 s %s to %s are left, want 4s to 10s", s.soonest(), s.left())
		}
	})
}

// The event of a trial that ended carries its value, and that of a void one its cause alone.
func TestEventOfATrialCarriesItsValue(t *testing.T) {
	none := func() time.Duration { return 0 }
	var told Event
	r := &reporter{left: none, soonest: none, hand: func(e Event) { told = e }}
	m := measure.Metric{Name: "iops", Unit: "1/s"}
	r.judged(&measure.Record{Values: map[string]float64{"iops": 7}}, m)
	if told.Value == nil || *told.Value != 7 || told.Metric != m {
		t.Errorf("told %+v", told)
	}
	r.judged(&measure.Record{Values: map[string]float64{"iops": 7}, Void: "it drifts"}, m)
	if told.Value != nil || told.Note != "it drifts" {
		t.Errorf("of a void trial told %+v", told)
	}
}
