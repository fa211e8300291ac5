package ceph

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
	"plimsoll/internal/service/ceph/counter"
)

// started is a private cluster of three OSDs.
func started(t *testing.T, m platform.Machine, more parameter.Settings) (i service.Instance, dir string) {
	t.Helper()
	settings := parameter.Settings{"osds": "3", "size": "2GiB"}
	for name, value := range more {
		settings[name] = value
	}
	s, err := Kind().New(settings)
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "cluster")
	if i, err = s.Start(t.Context(), service.Env{Machine: m, Dir: dir, Log: t.Logf}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return i, dir
}

// settled waits until an instance has nothing left to do.
func settled(t *testing.T, i service.Instance) {
	t.Helper()
	err := until(t.Context(), time.Minute, "end of work", func(ctx context.Context) (string, error) {
		busy, _, err := i.(service.Settling).Unsettled(ctx)
		return busy, err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func counted(t *testing.T, i service.Instance) map[string]float64 {
	t.Helper()
	all, err := i.Counters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// fill writes 64 MiB to an image of the pool.
func fill(t *testing.T, m platform.Machine, i service.Instance) {
	t.Helper()
	at, err := i.Endpoint(protocol)
	if err != nil {
		t.Fatal(err)
	}
	rbd := func(args ...string) {
		t.Helper()
		if r, err := m.Run(t.Context(), platform.Command{Argv: append([]string{"rbd", "--conf", at.Address}, args...)}); err != nil || r.Exit != 0 {
			t.Fatalf("rbd %s: %v, %s", args, err, r.Stderr)
		}
	}
	image := at.Database + "/filled"
	rbd("create", "--size", "64M", image)
	rbd("bench", "--io-type", "write", "--io-size", "1M", "--io-total", "64M", image)
}

func TestRealFaults(t *testing.T) {
	m := here(t)
	for fault, want := range map[string]struct {
		pending                     string
		up                          float64
		detected, restored, drained bool
	}{
		kill:    {"kill of osd.2", 2, true, false, false},
		pause:   {"pause of osd.2 for 1s", 3, false, true, false},
		restart: {"restart of osd.2 after 1s", 3, true, true, false},
		lose:    {"loss of osd.2, marked out after 1s", 2, true, true, false},
		drain:   {"drain of osd.2, which returns after 1s", 3, false, true, true},
	} {
		t.Run(fault, func(t *testing.T) {
			i, _ := started(t, m, parameter.Settings{"fault": fault, "fault_time": "1s"})
			fill(t, m, i)
			before := counted(t, i)
			d := i.(platform.Disturbed)
			if d.Pending() != want.pending {
				t.Errorf("pending is %q", d.Pending())
			}
			values, err := d.Disturb(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			after := counted(t, i)
			if after[counter.Up] != want.up || before[counter.Up] != 3 {
				t.Errorf("%v OSDs were up, and then %v", before[counter.Up], after[counter.Up])
			}
			if took, detected := values[detection]; detected != want.detected || detected && (took <= 0 || took > 30) {
				t.Errorf("detected %v, after %v s", detected, took)
			}
			if took, restored := values[recovery]; restored != want.restored || restored && (took <= 0 || took > 60) {
				t.Errorf("restored %v, after %v s", restored, took)
			}
			if took, drained := values[departure]; drained != want.drained || drained && (took <= 0 || took > 60) {
				t.Errorf("drained %v, after %v s", drained, took)
			}
			if lost := slices.Contains([]string{kill, restart, lose}, fault); before[counter.Degraded] != 0 || lost && after[counter.Degraded] == 0 {
				t.Errorf("%v placement groups lacked copies, and then %v", before[counter.Degraded], after[counter.Degraded])
			}
			if whole := want.restored; whole && after[counter.Stored] < .99*before[counter.Stored] {
				t.Errorf("%v bytes with all copies, and then %v", before[counter.Stored], after[counter.Stored])
			}
			for name, v := range before {
				if strings.HasSuffix(name, ".count") && after[name] < v {
					t.Errorf("%s ran backwards from %v to %v", name, v, after[name])
				}
			}
			if died := i.(service.FailureReporter).Died(); died != nil {
				t.Errorf("the cluster died: %v", died)
			}
			if want.up == 3 {
				settled(t, i)
				if again := counted(t, i); again[counter.Degraded] != 0 {
					t.Errorf("%v placement groups of a cluster that is whole lack copies", again[counter.Degraded])
				}
			} else if busy, _, err := i.(service.Settling).Unsettled(t.Context()); busy == "" || err != nil {
				t.Errorf("without an OSD it is settled: %v", err)
			}
		})
	}
}

// An OSD that ends though no fault was asked for ends the cluster.
func TestRealLostOSD(t *testing.T) {
	m := here(t)
	i, dir := started(t, m, nil)
	loseOSD(t, m, i, dir, "osd.1")
}

// loseOSD kills an OSD, which ends the cluster.
func loseOSD(t *testing.T, m platform.Machine, i service.Instance, dir, name string) {
	t.Helper()
	pid, err := os.ReadFile(filepath.Join(dir, name+".pid"))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := m.Run(t.Context(), platform.Command{Argv: []string{"kill", "-KILL", strings.TrimSpace(string(pid))}}); err != nil || r.Exit != 0 {
		t.Fatalf("kill: %v, %s", err, r.Stderr)
	}
	var died *service.DeathError
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); !errors.As(i.(service.FailureReporter).Died(), &died); <-tick.C {
		if time.Since(began) > time.Minute {
			t.Fatal("a cluster that lost an OSD runs on")
		}
	}
	if how := died.How(); how != "ceph ended with status 1: "+name+" ended (status 137)" {
		t.Errorf("it says %q", how)
	}
}
