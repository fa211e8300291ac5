package workload_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/compliance"
	"plimsoll/internal/workload/compliance/subject"
	"plimsoll/internal/workload/workloadtest"
)

// memory has VMs in memory.
type memory struct {
	vms     []subject.VM
	less    bool // answers for too few objects
	applied atomic.Int64
}

func newMemory(n int) *memory {
	m := &memory{}
	for i := range n {
		m.vms = append(m.vms, subject.VM{ID: string(rune('a' + i)), Policy: "p", Objects: 1 + i%3})
	}
	return m
}

func (m *memory) open(context.Context, load.Endpoint) (subject.Subject, error) { return m, nil }
func (m *memory) VMs(context.Context) ([]subject.VM, error)                    { return m.vms, nil }
func (m *memory) Close() error                                                 { return nil }

func (m *memory) Check(_ context.Context, kind subject.Kind, ids []string) (n int, err error) {
	for _, id := range ids {
		for _, v := range m.vms {
			if v.ID == id && kind == subject.RollUp {
				n++
			} else if v.ID == id {
				n += v.Objects
			}
		}
	}
	if m.less {
		n--
	}
	return n, nil
}

func (m *memory) Apply(_ context.Context, vm subject.VM) error {
	if vm.Policy == "" {
		return errors.New("no policy")
	}
	m.applied.Add(1)
	return nil
}

func (m *memory) env(t *testing.T) workload.Env {
	return workload.Env{Seed: 7, Log: t.Logf, Target: func(string) (load.Endpoint, error) {
		return load.Endpoint{Network: "tcp", Address: "127.0.0.1:1"}, nil
	}}
}

func TestContract(t *testing.T) {
	t.Parallel()
	m := newMemory(9)
	workloadtest.Run(t, compliance.Kind(m.open), workloadtest.Options{
		Settings: []parameter.Settings{
			{"vms": "3", "changes": "2", "threads": "2", "rate": "2000/s"},
			{"vms": "9", "check": "rollup", "rate": "500/s"},
		},
		Env:    m.env,
		Length: loadtest.Short(200 * time.Millisecond),
	})
	if m.applied.Load() == 0 {
		t.Error("no policy was applied again")
	}
}

// run runs a load of a while.
func run(t *testing.T, m *memory, settings parameter.Settings) (*measure.Recorder, error) {
	t.Helper()
	l, err := compliance.Kind(m.open).New(settings)
	if err != nil {
		t.Fatal(err)
	}
	out := measure.NewRecorder(nil)
	return out, l.Run(t.Context(), m.env(t), load.Stage{Length: 100 * time.Millisecond, Interval: 50 * time.Millisecond, Seed: 3}, out)
}

// A platform that leaves objects out is found.
func TestIncompleteAnswers(t *testing.T) {
	t.Parallel()
	for less, want := range map[bool]measure.State{false: measure.Pass, true: measure.Fail} {
		m := newMemory(9)
		m.less = less
		out, err := run(t, m, parameter.Settings{"vms": "4", "rate": "200/s"})
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, c := range out.Checks() {
			found = found || c.Name == "data" && c.State == want
		}
		if !found {
			t.Errorf("checks with less=%v: %+v", less, out.Checks())
		}
	}
}

func TestSharesOfCalls(t *testing.T) {
	t.Parallel()
	out, err := run(t, newMemory(5), parameter.Settings{"vms": "5", "changes": "3", "rate": "1000/s"})
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]int64{}
	for _, i := range out.Intervals() {
		for _, s := range i.Samples {
			by[s.Class] += s.Operations
		}
	}
	if by["check"] == 0 || by["apply"] < 2*by["check"] || by["apply"] > 3*by["check"]+3 {
		t.Errorf("%v, want three changes for each check", by)
	}
}

// Settings are read back as calls have them: fewer VMs than have policies.
func TestSettingsReadBack(t *testing.T) {
	t.Parallel()
	out, err := run(t, newMemory(9), parameter.Settings{"vms": "4", "threads": "3"})
	if err != nil {
		t.Fatal(err)
	}
	if seen := out.Observed(); seen["compliance.vms"] != "4" || seen["compliance.threads"] != "3" {
		t.Errorf("read back: %v", seen)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	if _, err := run(t, newMemory(3), parameter.Settings{"vms": "4"}); err == nil || !strings.Contains(err.Error(), "3 VMs have a storage policy") {
		t.Errorf("too few VMs: %v", err)
	}
}
