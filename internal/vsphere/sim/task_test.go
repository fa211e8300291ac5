package sim_test

import (
	"context"
	"testing"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/vsphere/sim"
	"plimsoll/internal/vsphere/sim/task"
)

func timed(t *testing.T, o task.Options) *bed {
	t.Helper()
	s, err := sim.Start(context.Background(), sim.Options{Clusters: []*cluster.Cluster{lab(2, 8)}, Listen: "127.0.0.1:0", User: "operator", Password: "secret", Folder: t.TempDir(), Tasks: o})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &bed{t, connect(t, s), context.Background()}
}

func TestOperationsTakeTheirTimeOneAtATime(t *testing.T) {
	t.Parallel()
	b := timed(t, task.Options{Times: task.Times{Mean: map[string]time.Duration{"powerOff": 300 * time.Millisecond}}})
	name, _ := b.some()
	v := b.vm(name)
	first, err := v.PowerOff(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	second, err := v.PowerOff(b.ctx)
	refused[*types.TaskInProgress](b, second, err)
	info := b.done(first, nil)
	if took := info.CompleteTime.Sub(*info.StartTime); took < 300*time.Millisecond {
		t.Errorf("took %v, want 300 ms", took)
	}
	b.done(v.PowerOn(b.ctx))
}

func TestHostsCarryOutSoManyOperationsAtOnce(t *testing.T) {
	t.Parallel()
	const each = 100 * time.Millisecond
	b := timed(t, task.Options{PerHost: 1, Times: task.Times{Mean: map[string]time.Duration{"powerOff": each}}})
	var hosts []mo.HostSystem
	all(t, b.Client, "HostSystem", []string{"vm"}, &hosts)
	busiest := hosts[0]
	for _, h := range hosts {
		if len(h.Vm) > len(busiest.Vm) {
			busiest = h
		}
	}
	var tasks []*object.Task
	for _, ref := range busiest.Vm {
		started, err := object.NewVirtualMachine(b.Client.Client, ref).PowerOff(b.ctx)
		if err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, started)
	}
	if len(tasks) < 2 {
		t.Fatalf("the host has %d VMs, want at least 2", len(tasks))
	}
	var ends []time.Time
	for _, task := range tasks {
		info, err := b.try(task, nil)
		if err == nil { // those that were off fail in no time of their own
			ends = append(ends, *info.CompleteTime)
		}
	}
	for i, a := range ends {
		for _, z := range ends[:i] {
			if gap := a.Sub(z).Abs(); gap < each {
				t.Errorf("two operations ended %v apart on a host that does one at a time, each %v", gap, each)
			}
		}
	}
}

func TestTimesAreThoseOfTheSeed(t *testing.T) {
	t.Parallel()
	for _, wrong := range []task.Times{{Mean: map[string]time.Duration{"powerUp": 1}}, {Mean: map[string]time.Duration{"powerOn": -1}}, {Spread: -1}} {
		if _, err := sim.Start(context.Background(), sim.Options{Listen: "127.0.0.1:0", Tasks: task.Options{Times: wrong}}); err == nil {
			t.Errorf("%+v is accepted", wrong)
		}
	}
}
