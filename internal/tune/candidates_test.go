package tune

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/effort"
	"plimsoll/internal/finding"
	"plimsoll/internal/finding/rule"
	"plimsoll/internal/finding/wording"
	"plimsoll/internal/study"
)

// candidate is a setting of the device, whose first level is the present one.
func candidate(name string, levels ...string) study.Factor {
	return study.Factor{Name: "storage." + name, Parameter: name, Levels: levels}
}

// product is a device whose settings multiply its rate; where two are named, joined by "+", both together do.
func product(gains map[string]float64) func(map[string]string) float64 {
	return func(s map[string]string) float64 {
		rate := 10000.
		for name, gain := range gains {
			all := true
			for part := range strings.SplitSeq(name, "+") {
				k, v, _ := strings.Cut(part, "=")
				all = all && s[k] == v
			}
			if all {
				rate *= 1 + gain
			}
		}
		return rate
	}
}

func tuned(t *testing.T, d *device, seed uint64, also func(*Tune)) *finding.Tuning {
	t.Helper()
	if d.rules == nil {
		d.rules = []rule.Rule{}
	}
	one := Tune{Study: question(), Seed: seed, Measure: d.measure, Looks: []int{8}}
	also(&one)
	tuning, err := Run(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	return tuning
}

// Of several levels of several settings the best ones are found, verified and kept; what is unsafe, useless or impossible is
// not, and the log has the reason.
func TestCandidatesRace(t *testing.T) {
	d := &device{
		cv:   .01,
		rate: product(map[string]float64{"cache=2": .1, "cache=4": .3, "cache=8": .2, "queue=16": .08, "fsync=false": .5, "mode=fast": -.2}),
		void: map[string]string{"engine=broken": "the server did not start: no such engine"},
	}
	tuning := tuned(t, d, 4, func(one *Tune) {
		one.Candidates = []study.Factor{
			candidate("cache", "1", "2", "4", "8"), candidate("queue", "1", "16"), candidate("fsync", "true", "false"), candidate("mode", "slow", "fast"),
			candidate("engine", "good", "broken"), candidate("same", "x", "x"), candidate("idle", "a", "b"),
		}
		one.Unsafe = func(c finding.Change) bool { return c.Factor == "storage.fsync" && c.To == "false" }
	})
	if f := tuning.Final; len(f) != 2 || f["storage.cache"] != "4" || f["storage.queue"] != "16" || tuning.Start["storage.cache"] != "1" {
		t.Errorf("final %v from %v", tuning.Final, tuning.Start)
	}
	if tuning.End != "No rule asks for another change, and no other candidate promises a gain" {
		t.Errorf("end %q", tuning.End)
	}
	outcomes := map[string]string{}
	for _, level := range tuning.Searches[0].Levels {
		outcomes[strings.TrimPrefix(level.Factor, "storage.")+"="+level.Level] = level.Outcome
	}
	for level, want := range map[string]string{
		"cache=4": "suggested", "cache=2": "less than 4", "cache=8": "less than 4", "queue=16": "suggested", "mode=fast": "no gain",
		"engine=broken": "could not be measured: the server did not start: no such engine",
	} {
		if outcomes[level] != want {
			t.Errorf("%s: %q, want %q", level, outcomes[level], want)
		}
	}
	if _, raced := outcomes["fsync=false"]; raced || len(tuning.NotTried) != 2 || tuning.NotTried[0].Reason != unsafeReason ||
		tuning.NotTried[1].Reason != "its only candidate is the present level, x" {
		t.Errorf("not tried: %+v", tuning.NotTried)
	}
	for _, r := range tuning.Rounds[:2] {
		if r.Outcome != finding.Kept || r.Seed == r.MeasuredSeed || !strings.HasPrefix(r.Measured, "search-") || !strings.HasPrefix(r.Verified, "verify-") {
			t.Errorf("round %+v", r)
		}
	}
	if c := tuning.Checks; len(c) != 1 || !c[0].Together.Confirmed() || c[0].Together.Gain < .3 || len(c[0].Alone) != 2 || c[0].Dropped != "" {
		t.Errorf("checks %+v", tuning.Checks)
	}
	if wording.Tell(tuning); !strings.Contains(tuning.Sentence.Text, "storage.cache was changed from 1 to 4 and kept") {
		t.Errorf("sentence %q", tuning.Sentence.Text)
	}
}

// With leave an unsafe change is tried like any other, whoever suggests it; without it, a rule's is refused too.
func TestUnsafeChangesNeedLeave(t *testing.T) {
	for _, allow := range []bool{false, true} {
		d := &device{cv: .01, rate: knobRate(.2), rules: []rule.Rule{{Name: "wrong", Check: useless}}}
		tuning := tuned(t, d, 1, func(one *Tune) {
			one.Allow, one.Unsafe = allow, func(c finding.Change) bool { return c.Factor == "storage.knob" }
		})
		if kept := tuning.Final["storage.knob"] == "1"; kept != allow || len(tuning.NotTried) == 0 != allow {
			t.Errorf("allow %t: final %v, not tried %v", allow, tuning.Final, tuning.NotTried)
		}
	}
}

// A useless level is kept in 5 % of its verifications at most, and one of +5 % in 90 % of the tunings, among useless ones. Of
// a pair that does the same work twice one goes, and a pair that helps only together is no change at a time.
func TestRatesOfARace(t *testing.T) {
	others := []study.Factor{candidate("a", "0", "1", "2"), candidate("b", "0", "1"), candidate("c", "0", "1", "2", "3")}
	runs := effort.Of(400)
	kept, tried, found := 0, 0, 0
	for seed := range uint64(runs) {
		d := &device{cv: .015, rate: product(map[string]float64{"knob=1": .05})}
		tuning := tuned(t, d, seed, func(one *Tune) { one.Candidates = append([]study.Factor{candidate("knob", "0", "1")}, others...) })
		for _, r := range tuning.Rounds {
			switch {
			case r.Recommendation == nil:
			case r.Recommendation.Change.Factor == "storage.knob":
				if r.Outcome == finding.Kept {
					found++
				}
			default:
				if tried++; r.Outcome == finding.Kept {
					kept++
				}
			}
		}
	}
	t.Logf("+5 %% kept in %d of %d; useless kept in %d of %d", found, runs, kept, tried)
	if found < runs*9/10 || kept > max(2, tried*7/100) {
		t.Errorf("+5 %% kept in %d of %d, useless changes in %d of %d", found, runs, kept, tried)
	}
}

// A change that a rule asked for no longer helps once a candidate does the same work: the check takes it back.
func TestTheInteractionCheckTakesBack(t *testing.T) {
	d := &device{cv: .01, rate: product(map[string]float64{"knob=1": .1, "cache=4": .3, "knob=1+cache=4": 1/1.1 - 1}), rules: []rule.Rule{{Name: "wrong", Check: useless}}}
	tuning := tuned(t, d, 2, func(one *Tune) { one.Candidates = []study.Factor{candidate("cache", "1", "4")} })
	if f := tuning.Final; len(f) != 1 || f["storage.cache"] != "4" {
		t.Errorf("final %v", f)
	}
	if r := tuning.Rounds[0]; r.Outcome != finding.TakenBack || !strings.Contains(r.Reason, "no longer helps beside the other changes") {
		t.Errorf("round 1: %s, %s", r.Outcome, r.Reason)
	}
	if c := tuning.Checks; len(c) != 2 || c[0].Dropped != "storage.knob" || !c[1].Together.Confirmed() || c[1].Dropped != "" || len(c[1].Alone) != 0 {
		t.Errorf("checks %+v", c)
	}
	if wording.Tell(tuning); !strings.Contains(tuning.Sentence.Text, "storage.knob was changed from 0 to 1 and taken back") {
		t.Errorf("sentence %q", tuning.Sentence.Text)
	}
}

// Beside a longer queue a large step of the knob no longer helps, and a small one does: its levels race again, within the rounds.
func TestLevelsThatWereTakenBackRaceAgain(t *testing.T) {
	for rounds, want := range map[int]string{5: "2", 2: ""} {
		d := &device{cv: .01, rules: []rule.Rule{{Name: "wrong", Check: useless}}, rate: product(map[string]float64{
			"knob=1": .2, "knob=2": .15, "queue=32": .4, "knob=1+queue=32": 1/1.2 - 1, "knob=2+queue=32": 1.1/1.15 - 1,
		})}
		tuning := tuned(t, d, 2, func(one *Tune) {
			one.Rounds, one.Declared = rounds, true
			one.Candidates = []study.Factor{candidate("knob", "0", "1", "2"), candidate("queue", "1", "32")}
		})
		if f := tuning.Final; f["storage.queue"] != "32" || f["storage.knob"] != want {
			t.Errorf("%d rounds: final %v, want knob %q", rounds, f, want)
		}
		folders := map[string]bool{}
		for _, r := range tuning.Rounds {
			if r.Outcome == finding.NoRuleFired && r.Verified != "" || folders[r.Verified] && r.Verified != "" {
				t.Errorf("%d rounds: round %+v", rounds, r)
			}
			folders[r.Verified] = true
		}
		for _, c := range tuning.Checks {
			if folders[c.Measured] {
				t.Errorf("%d rounds: two checks in %s", rounds, c.Measured)
			}
			folders[c.Measured] = true
		}
		if last := tuning.Checks[len(tuning.Checks)-1]; rounds == 5 && (last.Dropped != "" || len(last.Alone) != 2) {
			t.Errorf("last check %+v", last)
		}
	}
}

// Two that do the same work do not both go.
func TestRedundantChangesDoNotBothGo(t *testing.T) {
	l := &loop{Tune: Tune{Study: question(), Looks: []int{8}}, base: present(question()), tuning: &finding.Tuning{
		Start: map[string]string{"storage.a": "0", "storage.b": "0"}, Final: map[string]string{"storage.a": "1", "storage.b": "1"},
		Rounds: []finding.Round{
			{Outcome: finding.Kept, Recommendation: &finding.Recommendation{Change: finding.Change{Factor: "storage.a", From: "0", To: "1"}}},
			{Outcome: finding.Kept, Recommendation: &finding.Recommendation{Change: finding.Change{Factor: "storage.b", From: "0", To: "1"}}},
		},
	}}
	d := &device{cv: .01, rate: product(map[string]float64{"a=1": .2, "b=1": .2, "a=1+b=1": 1/1.2 - 1}), rules: []rule.Rule{}}
	l.Measure, l.Candidates = d.measure, []study.Factor{candidate("a", "0", "1"), candidate("b", "0", "1")}
	if _, err := l.together(t.Context(), 3); err != nil || len(l.tuning.Final) != 1 || len(l.tuning.Checks) != 2 {
		t.Errorf("final %v, %d checks, %v", l.tuning.Final, len(l.tuning.Checks), err)
	}
}

// A change whose service does not start is rolled back with the reason, and the tuning goes on.
func TestAChangeThatCannotRun(t *testing.T) {
	d := &device{cv: .01, rate: knobRate(.1), rules: []rule.Rule{{Name: "wrong", Check: useless}}, void: map[string]string{"knob=1": "the server did not start"}}
	tuning := tuned(t, d, 2, func(one *Tune) { one.Candidates = []study.Factor{candidate("cache", "1", "4")} })
	if r := tuning.Rounds[0]; r.Outcome != finding.RolledBack || r.Reason != "it could not be measured: the server did not start" || len(tuning.Searches) != 1 {
		t.Errorf("%+v, %d searches", r, len(tuning.Searches))
	}
}

// Present settings without a value of the goal's metric, or that cannot run, end the tuning at once; a violated floor is named.
// A level that does not go together with a change that was kept is refused before anything is measured: it leaves the race, and a rule's change is rolled back.
func TestLevelsThatAreRefused(t *testing.T) {
	d := &device{cv: .01, rate: product(map[string]float64{"cache=4": .6, "queue=8": .1})}
	together := func(s *study.Study) bool { // an arm has both
		levels := map[string][]string{}
		for _, f := range s.Factors {
			levels[f.Parameter] = f.Levels
		}
		at := func(name, level string) bool {
			return s.Workload.Settings[name] == level || slices.Contains(levels[name], level)
		}
		return at("cache", "4") && at("engine", "native") && s.Workload.Settings["cache"] != "1"
	}
	refused := errors.New("engine native requires cache 1")
	for _, c := range []struct {
		name     string
		rules    []rule.Rule
		possible bool
	}{{"race", []rule.Rule{}, true}, {"nobody tells", []rule.Rule{}, false}} {
		d.rules = c.rules
		one := Tune{Study: question(), Seed: 3, Looks: []int{8}, Declared: true}
		one.Candidates = []study.Factor{candidate("cache", "1", "4"), candidate("engine", "threads", "native"), candidate("queue", "1", "8")}
		one.Measure = func(ctx context.Context, s *study.Study, seed uint64, dir string) (*finding.Findings, error) {
			for _, arm := range s.Combinations {
				if arm["storage.cache"] == "4" && arm["storage.engine"] == "native" || arm["storage.engine"] == "native" && s.Workload.Settings["cache"] == "4" {
					return &finding.Findings{}, refused
				}
			}
			return d.measure(ctx, s, seed, dir)
		}
		if c.possible {
			one.Possible = func(_ context.Context, s *study.Study) error {
				if together(s) {
					return refused
				}
				return nil
			}
		}
		tuning, err := Run(t.Context(), one)
		if !c.possible {
			if err == nil || !strings.Contains(err.Error(), "engine native requires cache 1") {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err != nil || tuning.Final["storage.cache"] != "4" || tuning.Final["storage.queue"] != "8" {
			t.Errorf("%s: final %v, %v", c.name, tuning.Final, err)
		}
		if last := tuning.Searches[len(tuning.Searches)-1]; !slices.ContainsFunc(last.Levels, func(l finding.Searched) bool {
			return l.Level == "native" && l.Outcome == "could not be measured: engine native requires cache 1"
		}) {
			t.Errorf("%s: %+v", c.name, last)
		}
	}
}

func TestThePresentSettings(t *testing.T) {
	for _, c := range []struct{ metric, void, want string }{
		{"p99.99", "", "give no value of p99.99: lengthen measure.window"},
		{"iops", "the server did not start", "give no value of iops: the server did not start"},
	} {
		d := &device{cv: .01, rate: knobRate(0), rules: []rule.Rule{}}
		if c.void != "" {
			d.void = map[string]string{"threads=1": c.void}
		}
		s := question()
		s.Goal.Metric = c.metric
		if _, err := Run(t.Context(), Tune{Study: s, Seed: 1, Measure: d.measure}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.metric, err, c.want)
		}
	}
	least := 20000.
	s := question()
	s.Goal.Floor = []study.Limit{{Metric: "iops", Min: &least}}
	d := &device{cv: .01, rate: product(map[string]float64{"cache=4": .5, "cache=8": 1.5})}
	tuning := tuned(t, d, 2, func(one *Tune) { one.Study, one.Candidates = s, []study.Factor{candidate("cache", "1", "4", "8")} })
	if len(tuning.Violated) != 1 || tuning.Final["storage.cache"] != "8" || tuning.Searches[0].Levels[0].Outcome != "violates the floor iops >= 20000" {
		t.Errorf("violated %v, final %v, searches %+v", tuning.Violated, tuning.Final, tuning.Searches)
	}
}

// An interrupt, and the end of the time, leave the changes kept so far in the log.
func TestInterruptedTuning(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	d := &device{cv: .01, rate: product(map[string]float64{"cache=4": .5, "queue=2": .3}), rules: []rule.Rule{}}
	one := Tune{
		Study: question(), Seed: 1, Looks: []int{8}, Candidates: []study.Factor{candidate("cache", "1", "4"), candidate("queue", "1", "2")},
		Measure: func(ctx context.Context, s *study.Study, seed uint64, dir string) (*finding.Findings, error) {
			if strings.HasSuffix(dir, "verify-2") {
				cancel()
				return &finding.Findings{Void: []finding.Void{{Arm: 1, Cause: "interrupted"}}}, ctx.Err()
			}
			return d.measure(ctx, s, seed, dir)
		},
	}
	tuning, err := Run(ctx, one)
	if !errors.Is(err, context.Canceled) || len(tuning.Final) != 1 || tuning.Final["storage.cache"] != "4" {
		t.Errorf("final %v, %v", tuning.Final, err)
	}
	at := time.Unix(0, 0)
	one.Measure, one.Time, one.Now = d.measure, 2*time.Minute, func() time.Time { at = at.Add(time.Minute); return at }
	if tuning, err = Run(t.Context(), one); err != nil || len(tuning.Final) != 1 || !strings.HasPrefix(tuning.End, "The time budget is spent") {
		t.Errorf("final %v, end %q, %v", tuning.Final, tuning.End, err)
	}
}

// Where a rule names a setting with candidate levels, these race: one change goes where steps of the rule would take four. Of declared
// candidates no other level is tried.
func TestARuleLetsTheLevelsOfItsSettingRace(t *testing.T) {
	linear := func(m map[string]string) float64 {
		n, _ := strconv.ParseFloat(m["threads"], 64)
		return 1000 * min(n, 16)
	}
	for _, declared := range []bool{false, true} {
		d := &device{cv: .01, rate: linear, rules: rule.All()}
		tuning := tuned(t, d, 3, func(one *Tune) {
			one.Candidates, one.Declared = []study.Factor{candidate("threads", "1", "4", "8", "16")}, declared
		})
		r := tuning.Rounds[0]
		if r.Outcome != finding.Kept || r.Recommendation.Rule == searchRule || r.Recommendation.Change.To != "16" || r.Measured == "measure" || tuning.Final["storage.threads"] != "16" {
			t.Errorf("declared %t: %+v, final %v", declared, r, tuning.Final)
		}
		if tried := tuning.Searches[0].Levels; len(tried) != map[bool]int{false: 4, true: 3}[declared] {
			t.Errorf("declared %t: raced %+v", declared, tried)
		}
	}
}

// A study with candidates keeps its load: a rule that asks for more of it is not followed, and the log says so.
func TestDeclaredCandidatesKeepTheLoad(t *testing.T) {
	linear := func(m map[string]string) float64 {
		n, _ := strconv.ParseFloat(m["threads"], 64)
		return 1000 * min(n, 16)
	}
	for _, c := range []struct {
		candidates []study.Factor
		declared   bool
		follows    bool
	}{
		{[]study.Factor{candidate("cache", "1", "2")}, true, false},
		{[]study.Factor{candidate("cache", "1", "2")}, false, true}, // of the catalog
		{nil, true, true}, // rules only
	} {
		d := &device{cv: .01, rate: linear, rules: rule.All()}
		tuning := tuned(t, d, 3, func(one *Tune) { one.Candidates, one.Declared = c.candidates, c.declared })
		_, changed := tuning.Final["storage.threads"]
		told := slices.ContainsFunc(tuning.NotTried, func(i finding.Idea) bool {
			return i.Factor == "storage.threads" && strings.Contains(i.Reason, "changes the load")
		})
		if changed != c.follows || told == c.follows {
			t.Errorf("declared %t, %d candidates: final %v, not tried %+v", c.declared, len(c.candidates), tuning.Final, tuning.NotTried)
		}
	}
}

// Once a bottleneck is gone, what hid behind it shows: all candidates race again, also a level that was not confirmed before.
func TestLevelsRaceAgainBehindABottleneck(t *testing.T) {
	seconds := func(m map[string]string) float64 { // of an operation
		buffers, _ := strconv.ParseFloat(m["cache"], 64)
		log, _ := strconv.ParseFloat(m["depth"], 64)
		return 10/max(buffers, 1) + .6/max(log, 1) + 1
	}
	d := &device{cv: .01, rate: func(m map[string]string) float64 { return 1000 / seconds(m) }}
	tuning := tuned(t, d, 3, func(one *Tune) {
		one.Declared, one.Candidates = true, []study.Factor{candidate("cache", "1", "64"), candidate("depth", "1", "8"), candidate("threads", "1", "2")}
	})
	if len(tuning.Searches) < 2 || tuning.Final["storage.cache"] != "64" || tuning.Final["storage.depth"] != "8" {
		t.Errorf("final %v after %d races", tuning.Final, len(tuning.Searches))
	}
	if !strings.Contains(tuning.End, "no other candidate promises a gain") {
		t.Errorf("end %q", tuning.End)
	}
}

// Small gains move no bottleneck: one race is enough.
func TestSmallGainsNeedNoOtherRace(t *testing.T) {
	d := &device{cv: .01, rate: product(map[string]float64{"cache=4": .12})}
	tuning := tuned(t, d, 3, func(one *Tune) {
		one.Declared, one.Candidates = true, []study.Factor{candidate("cache", "1", "4"), candidate("threads", "1", "2")}
	})
	if len(tuning.Searches) != 1 || tuning.Final["storage.cache"] != "4" {
		t.Errorf("final %v after %d races", tuning.Final, len(tuning.Searches))
	}
}
