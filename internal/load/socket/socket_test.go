//go:build linux

package socket

import (
	"runtime"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
)

func TestAnOperationAllocatesNothing(t *testing.T) {
	s := serve(t, "tcp", faults{})
	j := job(s, load.Job{Connections: 4, Window: 8, Stage: load.Stage{Length: 100 * time.Millisecond, Interval: 100 * time.Millisecond}})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := loop(Run).run(t, j)
	runtime.ReadMemStats(&after)
	const once = 1000 // for the histograms, the buffers and the server
	if n := after.Mallocs - before.Mallocs; n > once+uint64(r.operations)/20 {
		t.Errorf("%d allocations for %d operations", n, r.operations)
	}
}

func TestIdleUsersAreSmall(t *testing.T) {
	const users = 2000
	s := serve(t, "tcp", faults{})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	j := job(s, load.Job{Connections: users, Think: load.Think{Mean: time.Hour}})
	out := measure.NewRecorder(func(*measure.Recorder) bool { runtime.GC(); runtime.ReadMemStats(&after); return false })
	if err := Run(t.Context(), j, out); err != nil {
		t.Fatal(err)
	}
	// The server's goroutines and buffers of 1 KiB are in it too.
	if per := float64(after.HeapInuse+after.StackInuse-before.HeapInuse-before.StackInuse) / users; per > 16<<10 {
		t.Errorf("an idle user takes %.0f bytes", per)
	}
}
