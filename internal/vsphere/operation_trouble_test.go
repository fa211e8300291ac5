package vsphere_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/vsphere/operation"
	"plimsoll/internal/vsphere/sim"
	"plimsoll/internal/vsphere/sim/fault"
	"plimsoll/internal/vsphere/sim/task"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/operations"
	"plimsoll/internal/workload/operations/management"
)

// trouble is what goes wrong in the middle of a load, and a part of what the load tells.
type trouble struct {
	name  string
	rules []string
	told  string
	also  func(context.Context, *testing.T, *fault.Set, management.Platform) // while the load runs
}

// run prepares, runs and cleans a load, and says what it has not told.
func (c trouble) run(t *testing.T, l workload.Load, env workload.Env, set *fault.Set, other management.Platform) (complaint string) {
	t.Helper()
	if err := l.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	complaint = c.strike(t, l, env, set, other)
	if err := set.Add(nil, true); err != nil {
		t.Fatal(err)
	}
	if err := l.Clean(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if s, err := other.Survey(t.Context(), "plimsoll-op-", "made by plimsoll, workload operations"); err != nil || len(s.VMs) > 0 {
		t.Errorf("left are %+v, %v", s.VMs, err)
	}
	return complaint
}

// strike runs the load while things go wrong.
func (c trouble) strike(t *testing.T, l workload.Load, env workload.Env, set *fault.Set, other management.Platform) (complaint string) {
	t.Helper()
	if err := set.Add(c.rules, true); err != nil {
		t.Fatal(err)
	}
	var beside sync.WaitGroup
	ctx, ended := context.WithCancel(t.Context())
	defer beside.Wait()
	defer ended()
	if c.also != nil {
		beside.Go(func() { c.also(ctx, t, set, other) })
	}
	out := measure.NewRecorder(nil)
	if err := l.Run(t.Context(), env, load.Stage{Length: 400 * time.Millisecond, Interval: 200 * time.Millisecond, Seed: 1}, out); err != nil {
		t.Fatal(err)
	}
	told := ""
	for _, check := range out.Checks() {
		if check.Name == "faults" || check.Name == "session" {
			told += check.Detail
		}
		if check.Name == "accounting" && check.State != measure.Pass {
			t.Errorf("%+v", check)
		}
	}
	if !strings.Contains(told, c.told) {
		return fmt.Sprintf("it tells %q, want %q; the vCenter made %q", told, c.told, set.String())
	}
	for _, rule := range c.rules {
		if rule != seldom && strings.Contains(set.String(), rule+"  0 ") {
			return fmt.Sprintf("not all faults were made: %q", set.String())
		}
	}
	return ""
}

// Whatever goes wrong in the middle of a load is counted and told, the load ends in time, and what was
// created is removed.
func TestWorkloadInTrouble(t *testing.T) {
	t.Parallel()
	for _, c := range []trouble{
		{"the vCenter restarts", []string{seldom}, "times that the session ended in the load: ", restart},
		{"the session expires", []string{"session=expire@150ms"}, "times that the session ended in the load: ", nil},
		{"tasks never end", []string{"powerOn=0.4:hang"}, "power-on: timeout", nil},
		{"a privilege is missing", []string{"MigrateVM_Task=0.6:NoPermission"}, "migrate: NoPermission", nil},
		{"replies are truncated", []string{"PowerOnVM_Task=0.6:truncate"}, "power-on: lost", nil},
		{"replies are slow", []string{"*=0.3:slow:20ms"}, "", nil},
		{"VMs are deleted by others", []string{seldom}, "ManagedObjectNotFound", deleteSome},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			set, err := fault.New(1, nil)
			if err != nil {
				t.Fatal(err)
			}
			at := startWith(t, sim.Options{Faults: set, Tasks: task.Options{Times: task.Times{Mean: map[string]time.Duration{"powerOn": 5 * time.Millisecond, "migrate": 5 * time.Millisecond}}}})
			env := workload.Env{Seed: 1, Log: t.Logf, Target: func(string) (load.Endpoint, error) { return at, nil }}
			l, err := operations.Kind(map[string]management.Opener{"vsphere": operation.Open}).New(parameter.Settings{
				"vms": "12", "threads": "4", "timeout": "700ms", "run_list": "power-on 3, power-off 3, create 1, delete 1, migrate 2, register 1", "ceiling": "0s",
			})
			if err != nil {
				t.Fatal(err)
			}
			other := openOperations(t, at)
			for round := 1; ; round++ { // on a busy machine 400 ms may be too short
				complaint := c.run(t, l, env, set, other)
				if complaint == "" {
					break
				}
				if round == 20 {
					t.Error(complaint)
					break
				}
			}
		})
	}
}

// seldom is a fault that is not to happen; the simulator counts how often it might have.
const seldom = "powerOn=0.0000001:FileLocked"

// begun waits until a load has begun to power VMs on; false if it has ended before.
func begun(ctx context.Context, set *fault.Set) bool {
	for strings.Contains(set.String(), seldom+"  0 of 0") {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(5 * time.Millisecond):
		}
	}
	return true
}

// restart restarts the vCenter once a load has begun.
func restart(ctx context.Context, t *testing.T, set *fault.Set, _ management.Platform) {
	if !begun(ctx, set) {
		return
	}
	if err := set.Add([]string{"vcenter=restart@1ms+200ms"}, false); err != nil {
		t.Error(err)
	}
}

// deleteSome deletes VMs of a load behind its back.
func deleteSome(ctx context.Context, t *testing.T, set *fault.Set, p management.Platform) {
	if !begun(ctx, set) {
		return
	}
	s, err := p.Survey(t.Context(), "plimsoll-op-", "made by plimsoll, workload operations")
	if err != nil {
		t.Error(err)
	}
	for _, v := range s.VMs {
		_, _ = carryOutWithin(ctx, p, management.Order{Kind: management.PowerOff, VM: v.ID}) // off, or busy with what the load does
		_, _ = carryOutWithin(ctx, p, management.Order{Kind: management.Delete, VM: v.ID})
	}
}

// Faults that the vCenter injects are counted by their names, as many as it made; a session that expires
// and calls that fail on their way are survived; and what was created is removed.
func TestWorkloadCountsInjectedFaults(t *testing.T) {
	t.Parallel()
	set, err := fault.New(1, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := startWith(t, sim.Options{Faults: set, Tasks: task.Options{Times: task.Times{Mean: map[string]time.Duration{"powerOn": 5 * time.Millisecond, "powerOff": 5 * time.Millisecond}}}})
	env := workload.Env{Seed: 1, Log: t.Logf, Target: func(string) (load.Endpoint, error) { return at, nil }}
	l, err := operations.Kind(map[string]management.Opener{"vsphere": operation.Open}).New(parameter.Settings{"vms": "12", "threads": "4", "run_list": "power-on 2, power-off 2, reconfigure 1", "ceiling": "0s"})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	run := func(rules ...string) (made, told string) {
		if err := set.Add(rules, true); err != nil {
			t.Fatal(err)
		}
		out := measure.NewRecorder(nil)
		if err := l.Run(t.Context(), env, load.Stage{Length: 500 * time.Millisecond, Interval: 250 * time.Millisecond, Seed: 1}, out); err != nil {
			t.Fatal(err)
		}
		for _, c := range out.Checks() {
			if c.Name == "faults" {
				told = c.Detail
			}
		}
		return set.String(), told
	}
	var made, told string
	for range 20 { // on a busy machine half a second may be too short for both faults
		if made, told = run("powerOn=0.4:InsufficientResourcesFault", "reconfigVm=0.5:FileLocked"); !strings.Contains(made, "  0 of ") {
			break
		}
	}
	for rule, name := range map[string]string{"powerOn=0.4:InsufficientResourcesFault  ": "power-on: InsufficientResourcesFault", "reconfigVm=0.5:FileLocked  ": "reconfigure: FileLocked"} {
		_, counts, _ := strings.Cut(made, rule)
		if n, _, _ := strings.Cut(counts, " of "); n == "0" || n == "" || !strings.Contains(told, n+" x "+name) {
			t.Errorf("the vCenter made %q, the workload tells %q", made, told)
		}
	}
	if made, _ = run("session=expire@200ms", "WaitForUpdatesEx=0.02:lose"); !strings.Contains(made, "session=expire@200ms  1 times") {
		t.Errorf("not all faults were made: %q", made)
	}
	if err := set.Add(nil, true); err != nil {
		t.Fatal(err)
	}
	if err := l.Clean(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	s, err := openOperations(t, at).Survey(t.Context(), "", "made by plimsoll, workload operations")
	if err != nil || len(s.VMs) > 0 {
		t.Errorf("left are %+v, %v", s.VMs, err)
	}
}
