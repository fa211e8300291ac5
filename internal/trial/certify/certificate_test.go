package certify

import (
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/trial/window"
)

// sound is the evidence of a trial with nothing wrong.
func sound() *Evidence {
	return &Evidence{
		Record: &measure.Record{
			Window:   measure.Window{Cut: 1, End: 11, Steady: measure.Steady, Drift: .004},
			Values:   map[string]float64{"iops": 1000, "mean": .008},
			Counts:   map[string]int64{"operations": 10000, "errors": 0, "read.operations": 7000, "write.operations": 3000},
			Counters: map[string]float64{StealCounter: 0, CountCounter: 2, cpuPressure: .1, throttled: 0, clockCounter: 1},
		},
		Demand:    load.Demand{Concurrency: 8, Classes: []load.Class{{Name: "read", Share: .7}, {Name: "write", Share: .3}}},
		Operation: "iops",
		Steady:    window.Steadiness{Cut: measure.Pass},
		Worker:    map[string]float64{measure.GeneratorCPU: .5},
		Ended:     Ending{Ran: 11 * time.Second, Length: 11 * time.Second, Step: 100 * time.Millisecond},
		Disks:     []Space{{"scratch folder", 50 << 30, 100 << 30}},
		ReadBack:  []Reading{{"storage.threads", "8", "8", true}},
	}
}

// Each rule passes on sound evidence, and fails or does not judge on the rest.
func TestCertificate(t *testing.T) {
	checks, void := Judge(sound())
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
		spoil func(e *Evidence)
	}{
		{"load ended early", measure.Fail, "load ended early: ran 10.5 s of 11 s", func(e *Evidence) { e.Ended.Ran = 10500 * time.Millisecond }},
		{"load ended early", measure.Pass, "", func(e *Evidence) { e.Ended.Ran, e.Ended.Enough = time.Second, true }},
		{"errors", measure.Fail, "errors: 1 failed", func(e *Evidence) { e.Failed = 1 }},
		{"errors", measure.Fail, "errors: 0 failed operations, warm-up included, and 0 good", func(e *Evidence) { e.Record.Counts["operations"] = 0 }},
		{"read back", measure.Fail, `read back: storage.threads reads "7" instead of "8"`, func(e *Evidence) { e.ReadBack[0].Seen = "7" }},
		{"read back", measure.Unknown, "", func(e *Evidence) { e.ReadBack[0].Known = false }},
		{"read back", measure.Pass, "", func(e *Evidence) { e.ReadBack = nil }},
		{"warm-up", measure.Fail, "", func(e *Evidence) { e.Steady.Cut = measure.Fail }},
		{"drift", measure.Fail, "no steady state: the rate rises by 5 % over the window, allowed 2 %", func(e *Evidence) { e.Record.Window.Steady, e.Record.Window.Drift = measure.Drifting, .05 }},
		{"drift", measure.Fail, "no steady state: the rate rises by 5 % over the window, allowed 4 %", func(e *Evidence) {
			e.Drift, e.Record.Window.Steady, e.Record.Window.Drift = .04, measure.Drifting, .05
		}},
		{"drift", measure.Fail, "no steady state: the rate or the response time falls by more than its mean over the window", func(e *Evidence) {
			e.Demand.Rate, e.Record.Window.Steady, e.Record.Window.Drift = 1000, measure.Drifting, -1.49
		}},
		{"drift", measure.Unknown, "", func(e *Evidence) { e.Record.Window.Steady = measure.SteadyUnknown }},
		{"little's law", measure.Fail, "little's law: X*R/N is 1.05: more", func(e *Evidence) { e.Record.Values["mean"] = .0084 }},
		{"little's law", measure.Pass, "", func(e *Evidence) { e.Record.Values["mean"] = .0077 }},
		{"little's law", measure.Fail, "little's law: X*R/N is 0.9: 10 %", func(e *Evidence) { e.Record.Values["mean"] = .0072 }},
		{"little's law", measure.Fail, "little's law: X*R/N is 0.9625", func(e *Evidence) { e.Record.Values["mean"], e.Simulated = .0077, true }},
		{"little's law", measure.Pass, "", func(e *Evidence) { e.Record.Values["mean"], e.Demand.Think = .003, 5*time.Millisecond }},
		{"little's law", measure.Fail, "little's law: X*R/N is 0.9188", func(e *Evidence) { e.Record.Values["mean"], e.Demand.Think = .00235, 5*time.Millisecond }},
		// Pauses of random length are not always as long as they are on average.
		{"little's law", measure.Pass, "", func(e *Evidence) {
			e.Record.Values["mean"], e.Record.Counts["operations"], e.Demand.Classes = .00235, 2500, nil
			e.Demand.Think, e.Demand.Drawn = 5*time.Millisecond, 1
		}},
		{"little's law", measure.Unknown, "", func(e *Evidence) { e.Demand.Rate = 1000 }},
		{"little's law", measure.Unknown, "", func(e *Evidence) { delete(e.Record.Values, "mean") }},
		// A loop of 8 with 40 operations counted may be off by 20 % at its edges.
		{"little's law", measure.Pass, "", func(e *Evidence) {
			e.Record.Values["mean"], e.Record.Counts["operations"], e.Demand.Classes = .0072, 40, nil
		}},
		// An operation of five seconds somewhere is no reason for one of 10,000 to be.
		{"little's law", measure.Fail, "little's law: X*R/N is 0.9: 10 %", func(e *Evidence) {
			e.Record.Values["mean"], e.Record.Values["max"] = .0072, 5
		}},
		{"reported mix", measure.Fail, "reported mix: read 60 % of 70 %", func(e *Evidence) {
			e.Record.Counts["read.operations"], e.Record.Counts["write.operations"] = 6000, 4000
		}},
		{"reported mix", measure.Pass, "", func(e *Evidence) { e.Demand.Classes = e.Demand.Classes[:1] }},
		{"reported mix", measure.Unknown, "", func(e *Evidence) {
			e.Record.Counts["operations"], e.Record.Counts["read.operations"], e.Record.Values["max"] = 19, 19, 1.2
		}},
		{"generator limit", measure.Fail, "generator limit: each thread of the load generator used 85 % of a CPU", func(e *Evidence) { e.Worker[measure.GeneratorCPU] = .85 }},
		{"generator limit", measure.Unknown, "", func(e *Evidence) { e.Worker = nil }},
		{"generator limit", measure.Unknown, "", func(e *Evidence) { e.Worker[measure.GeneratorCPU], e.Hosted = .85, true }},
		{"generator limit", measure.Pass, "", func(e *Evidence) { e.Worker[measure.GeneratorCPU], e.Hosted = .5, true }},
		{"steal", measure.Fail, "steal: 20 %", func(e *Evidence) { e.Record.Counters[StealCounter] = .4 }},
		{"steal", measure.Fail, "", func(e *Evidence) { e.Record.Counters[StealCounter], e.AtLeast = .4, true }},
		{"steal", measure.Unknown, "", func(e *Evidence) { delete(e.Record.Counters, StealCounter) }},
		{"steal", measure.Pass, "", func(e *Evidence) { e.Record.Counters, e.Simulated = nil, true }},
		{"steal", measure.Fail, "steal", func(e *Evidence) { e.Record.Counters[StealCounter], e.Simulated = .4, true }},
		{"cpu pressure", measure.Fail, "", func(e *Evidence) { e.Record.Counters[cpuPressure] = .5 }},
		{"throttling", measure.Fail, "", func(e *Evidence) { e.Record.Counters[throttled] = .5 }},
		{"time sync", measure.Unknown, "", func(e *Evidence) { e.Record.Counters[clockCounter] = 0 }},
		{"time sync", measure.Unknown, "", func(e *Evidence) { delete(e.Record.Counters, clockCounter) }},
		{"disk space", measure.Fail, "", func(e *Evidence) { e.Disks = append(e.Disks, Space{"results folder", 4 << 30, 100 << 30}) }},
		{"disk space", measure.Fail, "", func(e *Evidence) { e.Disks = []Space{{"results folder", 1 << 29, 2 << 30}} }},
		{"disk space", measure.Unknown, "", func(e *Evidence) { e.Disks = nil }},
	}
	for _, test := range tests {
		e := sound()
		test.spoil(e)
		checks, void := Judge(e)
		e.Record.Checks = checks
		i := slices.IndexFunc(checks, func(c measure.Check) bool { return c.Name == test.check })
		if i < 0 || checks[i].State != test.state {
			t.Errorf("%s: want %s in %+v", test.check, test.state, checks)
		}
		if !strings.HasPrefix(void, test.void) || (test.void == "") != (void == "") {
			t.Errorf("%s: void because of %q, want %q", test.check, void, test.void)
		}
	}
}

// A counter that the machine has, and that was read too seldom, is not one that it lacks.
func TestCountersReadTooSeldom(t *testing.T) {
	e := sound()
	delete(e.Record.Counters, StealCounter)
	delete(e.Record.Counters, clockCounter)
	delete(e.Record.Counters, throttled)
	e.Seldom = map[string]string{StealCounter: "read once in the window, which is too seldom", clockCounter: "not read in the window, which is too seldom"}
	checks, _ := Judge(e)
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
	noted := []measure.Check{{Name: "rows", Detail: "all there"}, {Name: "connections", Detail: "first error: too many"}}
	for cause, want := range map[string]string{
		"errors: 3 failed": "errors: 3 failed; first error: too many", "drift: 3 %": "drift: 3 %", "": "",
	} {
		if got := Reasoned(cause, noted); got != want {
			t.Errorf("%q becomes %q", cause, got)
		}
	}
	noted = append(noted, measure.Check{Name: "faults", State: measure.Unknown, Detail: "3 overloaded"}, measure.Check{Name: "ring", State: measure.Fail, Detail: "one left"})
	if got := Reasoned("errors: 3 failed", noted); got != "errors: 3 failed; first error: too many; 3 overloaded; one left" {
		t.Errorf("with all that is known it becomes %q", got)
	}
	if got := Reasoned("errors: 3 failed", noted[:1]); got != "errors: 3 failed" {
		t.Errorf("without trouble it becomes %q", got)
	}
}
