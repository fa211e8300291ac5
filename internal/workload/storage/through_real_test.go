package storage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/nbd"
	"plimsoll/internal/parameter"
)

// TestMain makes this program the servants that a machine's copy of plimsoll has.
func TestMain(m *testing.M) {
	if len(os.Args) != 2 || os.Args[1] != nbd.Command && os.Args[1] != nbd.FilterCommand {
		os.Exit(m.Run())
	}
	err := error(nil)
	if os.Args[1] == nbd.Command {
		err = nbd.Serve(context.Background(), os.Stdin, os.Stdout)
	} else {
		err = nbd.ServeFilter(os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// fio goes through the servers, each of which says what it does; a delay is in every
// response time; nothing is left of them.
func TestRealLoadThroughServers(t *testing.T) {
	env := forReal(t)
	l := made(t, parameter.Settings{"disks": "2", "size": "16MiB", "read": "100%", "depth": "4", "through": "delay:5ms daemon:stats"})
	if _, err := l.Check(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if err := l.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	out := measure.NewRecorder(func(r *measure.Recorder) bool { return len(r.Intervals()) >= 6 })
	if err := l.Run(t.Context(), env, load.Stage{Length: time.Minute, Interval: 250 * time.Millisecond, Seed: 1}, out); err != nil {
		t.Fatal(err)
	}
	if got := out.Observed()["storage.through"]; got != "delay:5ms daemon:stats" {
		t.Errorf("it went through %q", got)
	}
	intervals := out.Intervals()
	s, err := measure.Summarise(intervals, measure.Window{Cut: .5, End: intervals[len(intervals)-1].To.Seconds()}, "iops")
	if err != nil {
		t.Fatal(err)
	}
	if mean := s.Values["mean"]; mean < .005 {
		t.Errorf("a mean of %.4g s, where each operation is held up for 5 ms", mean)
	}
	if left, err := filepath.Glob(env.Dir + "/*.sock"); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if cpu := out.Values()["through.cpu"]; cpu <= 0 {
		t.Errorf("the servers took %v CPUs", cpu)
	}
}
