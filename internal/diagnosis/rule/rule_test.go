package rule_test

import (
	"strings"
	"testing"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/diagnosis/diagnosistest"
	"plimsoll/internal/diagnosis/rule"
	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/cgroup"
)

// scene is a change of a healthy host of 8 CPUs, and what the rule says of it.
type scene struct {
	name    string
	change  func(e *diagnosis.Evidence)
	subject string // of the first finding; "*" for the host, empty if the rule stays silent
	command string // part of the change
}

// judge runs the scenes of a rule.
func judge(t *testing.T, name string, scenes []scene) {
	t.Helper()
	for _, s := range append(scenes, scene{name: "healthy host", change: func(*diagnosis.Evidence) {}}) {
		e := diagnosistest.Healthy(8)
		s.change(e)
		found := diagnosistest.Found(t, rule.All(), name, e)
		switch {
		case s.subject == "" && len(found) > 0:
			t.Errorf("%s, %s: %s", name, s.name, found[0].Says)
		case s.subject != "" && len(found) == 0:
			t.Errorf("%s, %s: nothing found", name, s.name)
		case s.subject != "" && (found[0].Subject != strings.Trim(s.subject, "*") || found[0].Change == nil || !strings.Contains(found[0].Change.Command+found[0].Change.Says+found[0].Says, s.command)):
			t.Errorf("%s, %s: %s: %s %+v", name, s.name, found[0].Subject, found[0].Says, found[0].Change)
		}
	}
}

func TestCPUAffinity(t *testing.T) {
	pinned := hoststat.Process{PID: 5, Name: "server", Allowed: "3", User: 0.98, RunDelay: 2.5}
	judge(t, "cpu_affinity", []scene{
		{"pinned to one CPU", func(e *diagnosis.Evidence) {
			diagnosistest.Run(e, pinned)
			diagnosistest.Use(e, 1, 3)
		}, "server (5)", "taskset --all-tasks --cpu-list --pid 0-7 5"},
		{"pinned, and no CPU is idle", func(e *diagnosis.Evidence) {
			diagnosistest.Run(e, pinned)
			diagnosistest.Use(e, 1, 0, 1, 2, 3, 4, 5, 6, 7)
		}, "", ""},
		{"in a small CPU set", func(e *diagnosis.Evidence) {
			diagnosistest.Run(e, pinned)
			diagnosistest.Each(e, func(i *hoststat.Interval) {
				i.Groups = append(i.Groups, cgroup.Group{Path: "/system.slice/server.service", CPUSet: "3"})
			})
		}, "", ""},
	})
}
