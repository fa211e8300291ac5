package ceph

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/service"
	"plimsoll/internal/service/ceph/counter"
	"plimsoll/internal/service/servicetest"
)

// pool is the pool of the default settings.
const pool = "plimsoll-r2"

func here(t *testing.T) platform.Machine {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to start a real Ceph cluster")
	}
	p, err := local.Kind().Open(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p.Machine()
}

func TestRealContract(t *testing.T) {
	absent := []string{counter.NetworkRTT, counter.SitesRTT, counter.NetworkBytes, counter.NetworkDrops, counter.NetworkCPU} // without a router
	for _, m := range counter.Metrics() {
		if strings.HasPrefix(m.Name, "ceph.qos.") { // without limits of images
			absent = append(absent, m.Name)
		}
	}
	servicetest.Run(t, Kind(), servicetest.Options{
		Machine:    here(t),
		Absent:     absent,
		Unobserved: []string{"address", "pool", "fault", "fault_time"},
		Settings: []parameter.Settings{
			nil,
			{"osds": "3", "size": "2GiB", "redundancy": "ec:2+1", "compression": "lz4", "checksum": "xxhash64", "cache": "32MiB"},
		},
	})
}

func TestRefusedSettings(t *testing.T) {
	for _, c := range []struct {
		settings parameter.Settings
		want     string
	}{
		{parameter.Settings{"redundancy": "ec:4+2"}, "redundancy ec:4+2 requires 6 OSDs, each for one part, and osds is 4"},
		{parameter.Settings{"redundancy": "replica:3", "osds": "2"}, "redundancy replica:3 requires 3 OSDs, each for one part, and osds is 2"},
		{parameter.Settings{"redundancy": "raid5"}, `redundancy "raid5": must be replica:N, such as replica:3, or ec:K+M, such as ec:4+2`},
		{parameter.Settings{"redundancy": "ec:1+1"}, "redundancy ec:1+1: an erasure code has at least 2 data chunks; for copies take replica:2"},
		{parameter.Settings{"redundancy": "replica:0"}, `redundancy "replica:0": must be replica:N, such as replica:3, or ec:K+M, such as ec:4+2`},
		{parameter.Settings{"redundancy": "ec:3+1", "fault": "drain"}, "fault drain: redundancy ec:3+1 requires 4 OSDs without the one that leaves: set osds to 5 or more"},
		{parameter.Settings{"redundancy": "replica:1", "fault": "lose"}, "fault lose: redundancy replica:1 survives no loss of an OSD: take replica:2 or more, or fault: pause or drain"},
		{parameter.Settings{"compression": "lzo"}, `compression: "lzo" is not one of none, lz4, snappy, zlib, zstd`},
	} {
		if _, err := Kind().New(c.settings); err == nil || err.Error() != c.want {
			t.Errorf("%v: got %v, want %s", c.settings, err, c.want)
		}
	}
}

// A cluster that the user provides outlives the instance, whose settings and counters are read from it.
func TestRealProvided(t *testing.T) {
	m := here(t)
	own, dir := started(t, m, parameter.Settings{"compression": "lz4", "fault": kill})
	use := func(more parameter.Settings) (service.Service, error) {
		settings := parameter.Settings{"address": filepath.Join(dir, confFile), "pool": "plimsoll-r2-lz4"}
		maps.Copy(settings, more)
		return Kind().New(settings)
	}
	for setting, value := range map[string]string{"osds": "5", "redundancy": "replica:3"} {
		if _, err := use(parameter.Settings{setting: value}); err == nil || !strings.Contains(err.Error(), setting+" cannot be set on a server you provide") {
			t.Errorf("%s: %v", setting, err)
		}
	}
	env := service.Env{Machine: m, Dir: t.TempDir(), Log: t.Logf}
	wrong, err := use(parameter.Settings{"pool": "lake"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wrong.Check(t.Context(), env); err == nil || !strings.Contains(err.Error(), `has no pool "lake"; it has plimsoll`) {
		t.Errorf("absent pool: %v", err)
	}
	s, err := use(nil)
	if err != nil {
		t.Fatal(err)
	}
	guest, err := s.Start(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	of := guest.(service.Troubled)
	if err := of.Trouble(t.Context()); err != nil {
		t.Errorf("while it runs: %v", err)
	}
	observed, err := guest.Observed(t.Context())
	if err != nil || observed["redundancy"] != "replica:2" || observed["compression"] != "lz4" || observed["pool"] != "plimsoll-r2-lz4" {
		t.Errorf("observed %v, %v", observed, err)
	}
	got, want := counted(t, guest), counted(t, own)
	if got[counter.Up] != 3 || got["ceph.commits.count"] <= 0 || got["ceph.commits.count"] > want["ceph.commits.count"] {
		t.Errorf("got %v, want about %v", got, want)
	}
	if busy, known, err := guest.(service.Settling).Unsettled(t.Context()); busy != "" || !known || err != nil {
		t.Errorf("unsettled: %q, %v, %v", busy, known, err)
	}
	manager(t, filepath.Join(dir, confFile))
	space, err := Survey(t.Context(), m, filepath.Join(dir, confFile), "plimsoll-r2-lz4")
	// Three OSDs of 2 GiB hold less than 3 GiB with two copies of each byte.
	if err != nil || space.Hosts != 1 || space.OSDs != 3 || space.Free < 2<<30 || space.Free > 3<<30 || space.Total < space.Free {
		t.Errorf("surveyed %+v, %v", space, err)
	}
	if _, err := Survey(t.Context(), m, filepath.Join(dir, confFile), "lake"); err == nil || !strings.Contains(err.Error(), `it has no pool "lake"`) {
		t.Errorf("absent pool: %v", err)
	}
	if _, err := own.(platform.Disturbed).Disturb(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = until(t.Context(), time.Minute, "notice of the manager", func(context.Context) (string, error) {
		lost := counted(t, guest)
		if lost[counter.Down] != 1 || lost[counter.Degraded] == 0 {
			return fmt.Sprintf("%v OSDs are down and %v placement groups lack copies", lost[counter.Down], lost[counter.Degraded]), nil
		}
		return "", nil
	})
	if err != nil {
		t.Error(err)
	}
	settled(t, guest) // it does nothing about that
	if err := guest.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := own.Counters(t.Context()); err != nil {
		t.Errorf("it was ended by one who only used it: %v", err)
	}
	endMonitor(t, dir)
	err = until(t.Context(), time.Minute, "answer", func(ctx context.Context) (string, error) {
		if err := of.Trouble(ctx); err == nil || !strings.Contains(err.Error(), "the monitors of the cluster do not answer") {
			return fmt.Sprintf("without its monitor: %v", err), nil
		}
		return "", nil
	})
	if err != nil {
		t.Error(err)
	}
}

// endMonitor kills the monitor of the cluster in a folder.
func endMonitor(t *testing.T, dir string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range all {
		line, _ := os.ReadFile(filepath.Join(at, "cmdline"))
		environ, _ := os.ReadFile(filepath.Join(at, "environ"))
		if pid, err := strconv.Atoi(filepath.Base(at)); err == nil && strings.HasPrefix(string(line), "ceph-mon\x00-f") && strings.Contains(string(environ), "CEPH_CONF="+dir) {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("there is no monitor")
}

// manager starts the manager of a private cluster, which has none, and waits until it reports the space of pools.
func manager(t *testing.T, conf string) {
	t.Helper()
	if _, err := Survey(t.Context(), here(t), conf, "plimsoll-r2-lz4"); err == nil || !strings.Contains(err.Error(), "start ceph-mgr") {
		t.Errorf("without a manager: %v", err)
	}
	dir := t.TempDir()
	c := exec.Command("ceph-mgr", "--foreground", "--id", "x", "--conf", conf, "--mgr-data", dir, "--mgr-initial-modules=")
	if err := c.Start(); err != nil {
		t.Fatalf("start ceph-mgr: %v", err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); ; <-tick.C {
		_, err := Survey(t.Context(), here(t), conf, "plimsoll-r2-lz4")
		if err == nil {
			return
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("the manager reports no space: %v", err)
		}
	}
}

func TestRefusedAddresses(t *testing.T) {
	for _, c := range []struct {
		settings parameter.Settings
		want     string
	}{
		{parameter.Settings{"pool": "rbd"}, "pool: it is the pool of a cluster you provide: set address to its ceph.conf, or omit pool"},
		{parameter.Settings{"address": "/etc/ceph/ceph.conf"}, "pool: a cluster you provide requires the pool in which images are made"},
		{parameter.Settings{"address": "mon:3300", "pool": "rbd"}, "address mon:3300: must be the absolute path of a ceph.conf"},
	} {
		if _, err := Kind().New(c.settings); err == nil || err.Error() != c.want {
			t.Errorf("%v: got %v, want %s", c.settings, err, c.want)
		}
	}
}
