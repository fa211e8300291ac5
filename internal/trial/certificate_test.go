package trial

import (
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
)

// sound is the evidence of a trial with nothing wrong.
func sound() *evidence {
	return &evidence{
		record: &measure.Record{
			Window:   measure.Window{Cut: 1, End: 11, Steady: measure.Steady, Drift: .004},
			Values:   map[string]float64{"iops": 1000, "mean": .008},
			Counts:   map[string]int64{"operations": 10000, "errors": 0, "read.operations": 7000, "write.operations": 3000},
			Counters: map[string]float64{stealCounter: 0, countCounter: 2, cpuPressure: .1, throttled: 0, clockCounter: 1},
		},
		demand:    load.Demand{Concurrency: 8, Classes: []load.Class{{Name: "read", Share: .7}, {Name: "write", Share: .3}}},
		operation: "iops",
		steady:    steadiness{cut: measure.Pass},
		worker:    map[string]float64{generatorCPU: .5},
		ended:     ending{ran: 11 * time.Second, length: 11 * time.Second, step: 100 * time.Millisecond},
		disks:     []space{{"scratch folder", 50 << 30, 100 << 30}},
		readBack:  []reading{{"storage.threads", "8", "8", true}},
	}
}

// Each rule passes on sound evidence, and fails or does not judge on the rest.
func TestCertificate(t *testing.T) {
	checks, void := certify(sound())
	if void != "" || len(checks) != len(rules) {
		t.Fatalf("a sound trial is void: %s; %d checks", void, len(checks))
	}
	for _, c := range checks {
		if c.State != measure.Pass || c.Detail == "" {
			t.Errorf("a sound trial: %+v", c)
		}
	}
	tests := []struct {
		check string
		state measure.State
		void  string
		spoil func(e *evidence)
	}{
		{"load ended early", measure.Fail, "load ended early: ran 10.5 s of 11 s", func(e *evidence) { e.ended.ran = 10500 * time.Millisecond }},
		{"load ended early", measure.Pass, "", func(e *evidence) { e.ended.ran, e.ended.enough = time.Second, true }},
		{"errors", measure.Fail, "errors: 1 failed", func(e *evidence) { e.failed = 1 }},
		{"errors", measure.Fail, "errors: 0 failed operations, warm-up included, and 0 good", func(e *evidence) { e.record.Counts["operations"] = 0 }},
		{"read back", measure.Fail, `read back: storage.threads reads "7" instead of "8"`, func(e *evidence) { e.readBack[0].seen = "7" }},
		{"read back", measure.Unknown, "", func(e *evidence) { e.readBack[0].known = false }},
		{"read back", measure.Pass, "", func(e *evidence) { e.readBack = nil }},
		{"warm-up", measure.Fail, "", func(e *evidence) { e.steady.cut = measure.Fail }},
		{"drift", measure.Fail, "no steady state: the rate rises by 5 % over the window, allowed 2 %", func(e *evidence) { e.record.Window.Steady, e.record.Window.Drift = measure.Drifting, .05 }},
		{"drift", measure.Fail, "no steady state: the rate rises by 5 % over the window, allowed 4 %", func(e *evidence) {
			e.drift, e.record.Window.Steady, e.record.Window.Drift = .04, measure.Drifting, .05
		}},
		{"drift", measure.Fail, "no steady state: the rate or the response time falls by more than its mean over the window", func(e *evidence) {
			e.demand.Rate, e.record.Window.Steady, e.record.Window.Drift = 1000, measure.Drifting, -1.49
		}},
		{"drift", measure.Unknown, "", func(e *evidence) { e.record.Window.Steady = measure.SteadyUnknown }},
		{"little's law", measure.Fail, "little's law: X*R/N is 1.05: more", func(e *evidence) { e.record.Values["mean"] = .0084 }},
		{"little's law", measure.Pass, "", func(e *evidence) { e.record.Values["mean"] = .0077 }},
		{"little's law", measure.Fail, "little's law: X*R/N is 0.9: 10 %", func(e *evidence) { e.record.Values["mean"] = .0072 }},
		{"little's law", measure.Fail, "little's law: X*R/N is 0.9625", func(e *evidence) { e.record.Values["mean"], e.simulated = .0077, true }},
		{"little's law", measure.Pass, "", func(e *evidence) { e.record.Values["mean"], e.demand.Think = .003, 5*time.Millisecond }},
		{"little's law", measure.Fail, "little's law: X*R/N is 0.9188", func(e *evidence) { e.record.Values["mean"], e.demand.Think = .00235, 5*time.Millisecond }},
		// Pauses of random length are not always as long as they are on average.
		{"little's law", measure.Pass, "", func(e *evidence) {
			e.record.Values["mean"], e.record.Counts["operations"], e.demand.Classes = .00235, 2500, nil
			e.demand.Think, e.demand.Drawn = 5*time.Millisecond, 1
		}},
		{"little's law", measure.Unknown, "", func(e *evidence) { e.demand.Rate = 1000 }},
		{"little's law", measure.Unknown, "", func(e *evidence) { delete(e.record.Values, "mean") }},
		// A loop of 8 with 40 operations counted may be off by 20 % at its edges.
		{"little's law", measure.Pass, "", func(e *evidence) {
			e.record.Values["mean"], e.record.Counts["operations"], e.demand.Classes = .0072, 40, nil
		}},
		// An operation of five seconds somewhere is no reason for one of 10,000 to be.
		{"little's law", measure.Fail, "little's law: X*R/N is 0.9: 10 %", func(e *evidence) {
			e.record.Values["mean"], e.record.Values["max"] = .0072, 5
		}},
		{"reported mix", measure.Fail, "reported mix: read 60 % of 70 %", func(e *evidence) {
			e.record.Counts["read.operations"], e.record.Counts["write.operations"] = 6000, 4000
		}},
		{"reported mix", measure.Pass, "", func(e *evidence) { e.demand.Classes = e.demand.Classes[:1] }},
		{"reported mix", measure.Unknown, "", func(e *evidence) {
			e.record.Counts["operations"], e.record.Counts["read.operations"], e.record.Values["max"] = 19, 19, 1.2
		}},
		{"generator limit", measure.Fail, "generator limit: the load generator used 85 % of one CPU for each of its threads", func(e *evidence) { e.worker[generatorCPU] = .85 }},
		{"generator limit", measure.Unknown, "", func(e *evidence) { e.worker = nil }},
		{"generator limit", measure.Unknown, "", func(e *evidence) { e.worker[generatorCPU], e.hosted = .85, true }},
		{"generator limit", measure.Pass, "", func(e *evidence) { e.worker[generatorCPU], e.hosted = .5, true }},
		{"steal", measure.Fail, "steal: 20 %", func(e *evidence) { e.record.Counters[stealCounter] = .4 }},
		{"steal", measure.Unknown, "", func(e *evidence) { delete(e.record.Counters, stealCounter) }},
		{"steal", measure.Pass, "", func(e *evidence) { e.record.Counters, e.simulated = nil, true }},
		{"steal", measure.Fail, "steal", func(e *evidence) { e.record.Counters[stealCounter], e.simulated = .4, true }},
		{"cpu pressure", measure.Fail, "", func(e *evidence) { e.record.Counters[cpuPressure] = .5 }},
		{"throttling", measure.Fail, "", func(e *evidence) { e.record.Counters[throttled] = .5 }},
		{"time sync", measure.Unknown, "", func(e *evidence) { e.record.Counters[clockCounter] = 0 }},
		{"time sync", measure.Unknown, "", func(e *evidence) { delete(e.record.Counters, clockCounter) }},
		{"disk space", measure.Fail, "", func(e *evidence) { e.disks = append(e.disks, space{"results folder", 4 << 30, 100 << 30}) }},
		{"disk space", measure.Fail, "", func(e *evidence) { e.disks = []space{{"results folder", 1 << 29, 2 << 30}} }},
		{"disk space", measure.Unknown, "", func(e *evidence) { e.disks = nil }},
	}
	for _, test := range tests {
		e := sound()
		test.spoil(e)
		checks, void := certify(e)
		e.record.Checks = checks
		check(t, e.record, test.check, test.state)
		if !strings.HasPrefix(void, test.void) || (test.void == "") != (void == "") {
			t.Errorf("%s: void because of %q, want %q", test.check, void, test.void)
		}
	}
}

// A counter that the machine has, and that was read too seldom, is not one that it lacks.
func TestCountersReadTooSeldom(t *testing.T) {
	e := sound()
	delete(e.record.Counters, stealCounter)
	delete(e.record.Counters, clockCounter)
	delete(e.record.Counters, throttled)
	e.seldom = map[string]string{stealCounter: "read once in the window, which is too seldom", clockCounter: "not read in the window, which is too seldom"}
	checks, _ := certify(e)
	for name, want := range map[string]string{
		"steal":      "cpu.steal was read once in the window, which is too seldom",
		"time sync":  "clock.synchronised was not read in the window, which is too seldom",
		"throttling": "no counter cgroup.throttled",
	} {
		i := slices.IndexFunc(checks, func(c measure.Check) bool { return c.Name == name })
		if c := checks[i]; c.State != measure.Unknown || c.Detail != want {
			t.Errorf("%s: %s, %q; want %q", name, c.State, c.Detail, want)
		}
	}
}

func TestEveryRuleHasAReason(t *testing.T) {
	for _, r := range rules {
		if len(r.reason) < 20 {
			t.Errorf("%s: %q is no reason", r.name, r.reason)
		}
	}
}

func TestWhyOperationsFailed(t *testing.T) {
	noted := []measure.Check{{Name: "rows", Detail: "all there"}, {Name: "connections", Detail: "first trouble: too many"}}
	for cause, want := range map[string]string{
		"errors: 3 failed": "errors: 3 failed; first trouble: too many", "drift: 3 %": "drift: 3 %", "": "",
	} {
		if got := reasoned(cause, noted); got != want {
			t.Errorf("%q becomes %q", cause, got)
		}
	}
	noted = append(noted, measure.Check{Name: "faults", State: measure.Unknown, Detail: "3 overloaded"}, measure.Check{Name: "ring", State: measure.Fail, Detail: "one left"})
	if got := reasoned("errors: 3 failed", noted); got != "errors: 3 failed; first trouble: too many; 3 overloaded; one left" {
		t.Errorf("with all that is known it becomes %q", got)
	}
	if got := reasoned("errors: 3 failed", noted[:1]); got != "errors: 3 failed" {
		t.Errorf("without trouble it becomes %q", got)
	}
}
