package vsphere_test

import (
	"runtime"
	"testing"
	"time"

	"plimsoll/internal/effort"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/vsphere/operation"
	"plimsoll/internal/vsphere/sim"
	"plimsoll/internal/vsphere/sim/task"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/operations"
	"plimsoll/internal/workload/operations/management"
)

// The simulator forgets deleted VMs: a VM has hundreds of objects, of which locks, names and placements may stay. With
// PLIMSOLL_REAL=1 as many are made that all tasks and events which are kept have been replaced.
func TestDeletedVMsAreForgotten(t *testing.T) {
	enough, lasting := int64(400), task.Options{Keep: 50}
	if effort.Full() {
		enough, lasting = 1500, task.Options{}
	}
	at := startWith(t, sim.Options{Tasks: lasting})
	env := workload.Env{Seed: 1, Log: t.Logf, Target: func(string) (load.Endpoint, error) { return at, nil }}
	l, err := operations.Kind(map[string]management.Opener{"vsphere": operation.Open}).New(parameter.Settings{"vms": "8", "threads": "4", "run_list": "create 1, delete 1", "ceiling": "0s"})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	objects := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapObjects)
	}
	// churn makes and deletes VMs until there were so many: a busy machine makes few at a time.
	churn := func(many int64) (made int64) {
		for range 200 {
			out := measure.NewRecorder(nil)
			if err := l.Run(t.Context(), env, load.Stage{Length: 300 * time.Millisecond, Interval: 300 * time.Millisecond, Seed: 1}, out); err != nil {
				t.Fatal(err)
			}
			for _, in := range out.Intervals() {
				for _, s := range in.Samples {
					if s.Class == "create" {
						made += s.Operations
					}
				}
			}
			if made >= many {
				return made
			}
		}
		t.Fatalf("%d VMs were made, want %d", made, many)
		return 0
	}
	churn(enough) // the simulator keeps the last tasks
	before := objects()
	made := churn(enough / 2)
	if kept := (objects() - before) / made; kept > 60 {
		t.Errorf("%d VMs were made and deleted; %d objects are kept of each", made, kept)
	}
	if err := l.Clean(t.Context(), env); err != nil {
		t.Fatal(err)
	}
}
