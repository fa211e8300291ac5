package judge

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/diagnosis/diagnosistest"
	"plimsoll/internal/finding"
	"plimsoll/internal/finding/table"
	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/cgroup"
	"plimsoll/internal/hoststat/psi"
	"plimsoll/internal/hoststat/trace"
	"plimsoll/internal/measure"
	"plimsoll/internal/study"
)

// hosted gives each trial the state of a host, which a function changes by arm.
func hosted(c table.Case, change func(d *trace.Detail, arm, trial int)) table.Case {
	c.Hosts = map[int][]*trace.Detail{}
	for i := range c.Records {
		r := &c.Records[i]
		e := diagnosistest.Healthy(8)
		d := &trace.Detail{Machine: "db", Served: true, Recording: e.Recording}
		change(d, r.Arm, r.Trial)
		c.Hosts[r.Trial] = []*trace.Detail{d}
	}
	return c
}

// throttled runs the load's worker in a control group with a quota of half a CPU.
func throttled(d *trace.Detail, _, trial int) {
	e := diagnosistest.Healthy(8)
	diagnosistest.Run(e, hoststat.Process{PID: 4000 + trial, Name: "plimsoll", User: .5, Origin: "/usr/bin/plimsoll worker", Group: "/plimsoll"})
	diagnosistest.Each(e, func(i *hoststat.Interval) {
		i.Groups = append(i.Groups, cgroup.Group{Path: "/plimsoll", Usage: .5, Quota: .5, Periods: 10, ThrottledPeriods: 9 + float64(trial%2), Throttled: .4})
	})
	d.Recording = e.Recording
}

func diagnosed(f *finding.Findings, name string) []finding.Explanation {
	return slices.DeleteFunc(slices.Clone(f.Explanations), func(e finding.Explanation) bool { return e.Rule != name })
}

// The state of the hosts explains a limit: processes with other numbers in each trial are one
// program, numbers are means over the trials, and a factor of the study makes the change.
func TestHostsExplainALimit(t *testing.T) {
	w := world{seed: 4, blocks: 4, arms: []float64{1}, cv: .01, study: func(s *study.Study) {
		wanting(s)
		s.Factors = []study.Factor{{Name: "host.quota", Levels: []string{"0.5"}}}
	}}
	c := hosted(w.build(), throttled)
	for i := range c.Plan.Arms {
		c.Plan.Arms[i].Levels = map[string]string{"host.quota": "0.5"}
	}
	f := judged(c)
	sound(t, f)
	got := diagnosed(f, "cpu_quota")
	if len(got) != 1 || got[0].Grade != finding.AccountsFor || !strings.Contains(got[0].Text, "throttles the load generator in 95 % of its periods") {
		t.Fatalf("%+v; not judged: %q", got, f.NotJudged)
	}
	if c := got[0].Change; c == nil || *c != (finding.Change{Factor: "host.quota", From: "0.5", To: "none"}) || got[0].Gain == nil {
		t.Errorf("change %+v, gain %+v", c, got[0].Gain)
	}
}

// Of two arms, the one that has a limit is named. Without a decided effect nothing is explained.
func TestHostsExplainTheArm(t *testing.T) {
	second := func(d *trace.Detail, arm, trial int) {
		if arm == 1 {
			throttled(d, arm, trial)
		}
	}
	w := world{seed: 4, blocks: 8, arms: []float64{1, .5}, cv: .01}
	f := judged(hosted(w.build(), second))
	sound(t, f)
	got := diagnosed(f, "cpu_quota")
	if len(got) != 1 || got[0].Arm != 1 || got[0].Change != nil || got[0].Advice == "" || got[0].Command == "" {
		t.Errorf("%+v", got)
	}
	w.arms = []float64{1, 1}
	w.cv = .03
	if f := judged(hosted(w.build(), second)); len(f.Explanations) > 0 {
		t.Errorf("no effect, and yet %+v", f.Explanations)
	}
}

// What holds in fewer than half of the trials, and a healthy host, explain nothing.
func TestHostsThatExplainNothing(t *testing.T) {
	for name, change := range map[string]func(d *trace.Detail, arm, trial int){
		"healthy": func(*trace.Detail, int, int) {},
		"rare": func(d *trace.Detail, arm, trial int) {
			if trial == 1 {
				throttled(d, arm, trial)
			}
		},
	} {
		w := world{seed: 4, blocks: 4, arms: []float64{1}, cv: .01, study: wanting}
		plain := judged(w.build())
		f := judged(hosted(w.build(), change))
		if len(f.Explanations) != len(plain.Explanations) {
			t.Errorf("%s: %+v", name, f.Explanations)
		}
	}
}

// A source that the host lacks is named once, with all rules that need it.
func TestHostsThatLackASource(t *testing.T) {
	w := world{seed: 4, blocks: 4, arms: []float64{1}, cv: .01, study: wanting}
	f := judged(hosted(w.build(), func(d *trace.Detail, _, _ int) {
		d.Mean.Missing = map[string]string{"groups": "the kernel does not have it"}
	}))
	lines := slices.DeleteFunc(slices.Clone(f.NotJudged), func(l string) bool { return !strings.Contains(l, "no groups: the kernel does not have it") })
	if len(lines) != 1 || !strings.Contains(lines[0], "cpu_quota") {
		t.Errorf("not judged: %q", f.NotJudged)
	}
}

// neighbourhood is the host of a guest, whose CPUs a neighbour takes.
func neighbourhood() *trace.Detail {
	e := diagnosistest.Healthy(4)
	diagnosistest.Use(e, .99, 0, 1, 2, 3)
	vcpu := hoststat.Thread{TID: 41, Name: "CPU 0/TCG", State: "R", User: .5, RunDelay: .45}
	diagnosistest.Run(e, hoststat.Process{PID: 40, Name: "qemu-system-x86", Command: "qemu-system-x86_64 -name guest=client-2,debug-threads=on", Origin: "qemu-system-x86_64", User: .5, RunDelay: .45, Tasks: []hoststat.Thread{vcpu}})
	diagnosistest.Run(e, hoststat.Process{PID: 7, Name: "ffmpeg", User: 3.4, RunDelay: .5})
	diagnosistest.Each(e, func(i *hoststat.Interval) { i.Pressure["cpu"] = psi.Pressure{Some: .6} })
	return &trace.Detail{Machine: "host", Guests: []int{40}, Served: true, Recording: e.Recording}
}

// What the host of a guest lacks explains the guest's limit, on the host, also beside a finding of
// the same rule in the guest. A host that is not read is not judged, and the reason is said.
func TestHostOfGuestsExplainsALimit(t *testing.T) {
	w := world{seed: 4, blocks: 4, arms: []float64{1}, cv: .01, study: wanting}
	c := hosted(w.build(), throttled)
	for trial, all := range c.Hosts {
		c.Hosts[trial] = append(all, neighbourhood())
	}
	f := judged(c)
	sound(t, f)
	got := diagnosed(f, "ready_time")
	if len(got) != 1 || !strings.HasPrefix(got[0].Text, "On the host: The vCPU of guest client-2 waits for CPUs of this host 47.4 % of the time it wants to run. ffmpeg, which is no guest, uses 3.4 CPUs.") || got[0].Change != nil || !strings.Contains(got[0].Advice, "move ffmpeg off this host") {
		t.Fatalf("%+v; not judged: %q", got, f.NotJudged)
	}
	if quota := diagnosed(f, "cpu_quota"); len(quota) != 1 || !strings.HasPrefix(quota[0].Text, "On db: ") {
		t.Errorf("in the guest: %+v", quota)
	}
	if hot := diagnosed(f, "hot_thread"); len(hot) > 0 {
		t.Errorf("a vCPU is judged as a thread of the host: %+v", hot)
	}

	c = hosted(w.build(), throttled)
	for i := range c.Records {
		c.Records[i].Missing = []string{measure.HostOf + "db1: it is on another host"}
	}
	const want = "ready_time and all other rules on the host of db1: it is on another host"
	if f := judged(c); !slices.Contains(f.NotJudged, want) {
		t.Errorf("not judged: %q", f.NotJudged)
	}
}

// Names with digits in a finding are no numbers for the audit: devices, CPUs, machines.
func TestNamesOfHostsAreNoNumbers(t *testing.T) {
	w := world{seed: 4, blocks: 4, arms: []float64{1}, cv: .01, study: wanting}
	c := hosted(w.build(), func(d *trace.Detail, _, trial int) {
		e := diagnosistest.Healthy(8)
		diagnosistest.Use(e, .95, 2, 3)
		diagnosistest.Run(e, hoststat.Process{PID: 4000 + trial, Name: "cc1", User: 1.8, RunDelay: 1.5, Allowed: "2-3"})
		d.Machine, d.Recording = "client-2", e.Recording
	})
	f := judged(c)
	sound(t, f)
	got := diagnosed(f, "cpu_affinity")
	if len(got) != 1 || !strings.Contains(got[0].Text, "cc1 may run on CPUs 2-3 only") || !slices.Equal(got[0].Names, []string{"CPUs 2-3", "cc1", "client-2"}) {
		t.Errorf("%+v; not judged %q", f.Explanations, f.NotJudged)
	}
}
