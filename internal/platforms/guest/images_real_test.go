package guest

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/effort"
	"plimsoll/internal/factor"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/platformtest"
	"plimsoll/internal/service"
	"plimsoll/internal/service/ceph"
)

// clustered is a platform with a Ceph cluster on its host.
func clustered(t *testing.T) (*testbed, service.Instance) {
	t.Helper()
	b := booted(t, func(s *spec.Guest) { s.Memory, s.DiskSize = 192<<20, 128<<20 })
	if err := qemu.HasImages(t.Context()); err != nil {
		t.Skip(err)
	}
	if err := b.Attach(t.Context(), load.Endpoint{}, ""); err != nil {
		t.Fatal(err)
	}
	host, dir, err := b.Host(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := ceph.Kind().New(parameter.Settings{"osds": "2", "size": "1GiB"})
	if err != nil {
		t.Fatal(err)
	}
	env := service.Env{Machine: host, Dir: filepath.Join(dir, "ceph"), Log: t.Logf}
	if _, err := s.Check(t.Context(), env); err != nil {
		t.Skip(err)
	}
	i, err := s.Start(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = i.Stop(t.Context()) }) // it may have died
	at, err := i.Endpoint(imageProtocol)
	if err == nil {
		err = b.Attach(t.Context(), at, "plimsoll-test-")
	}
	if err != nil {
		t.Fatal(err)
	}
	return b, i
}

func clusterBytes(t *testing.T, i service.Instance) float64 {
	t.Helper()
	all, err := i.Counters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all["ceph.write_bytes"]
}

// What a guest writes to its disk is what the cluster is given. The disk is read back from QEMU, keeps its data over a reboot, and
// goes along when the guest migrates. When the cluster dies, the guest ends and does not wait.
func TestRealImages(t *testing.T) {
	effort.Deep(t, "boot guests from images of a cluster")
	b, cluster := clustered(t)
	m := b.Machine()
	run := func(argv ...string) string { t.Helper(); return platformtest.Do(t, m, argv...) }
	file := b.Scratch() + "/file"
	fio := []string{"fio", "--name=w", "--filename=" + file, "--size=32m", "--bs=64k", "--ioengine=libaio", "--iodepth=8", "--direct=1", "--fallocate=none"}
	run("mkdir", "-p", "--", b.Scratch())
	run(append(fio, "--rw=write", "--end_fsync=1")...)
	run("sync")
	before := clusterBytes(t, cluster)
	run(append(fio, "--rw=randwrite", "--overwrite=1", "--end_fsync=1")...)
	run("sync")
	if wrote := clusterBytes(t, cluster) - before; math.Abs(wrote/(32<<20)-1) > .01 {
		t.Errorf("the guest wrote %d bytes, and the cluster was given %.0f, %.2f %% off", 32<<20, wrote, 100*(wrote/(32<<20)-1))
	} else {
		t.Logf("the cluster was given %.0f bytes for %d of the guest", wrote, 32<<20)
	}
	image := factorOf("guest.backing")
	for _, level := range []string{"file", "image"} {
		if err := image.Set(t.Context(), factor.Env{Machine: m}, level); err != nil {
			t.Fatal(err)
		}
		if got, err := image.Get(t.Context(), factor.Env{Machine: m}); err != nil || got != level {
			t.Errorf("guest.backing is read back as %q, %v, want %q", got, err, level)
		}
		if r, err := m.Run(t.Context(), platform.Command{Argv: []string{"test", "-e", file}}); err != nil || (r.Exit == 0) != (level == "image") {
			t.Errorf("with backing %s the file is there: %v, %v", level, r.Exit == 0, err)
		}
	}
	at, err := cluster.Endpoint(imageProtocol)
	if err != nil {
		t.Fatal(err)
	}
	pool := at.Database
	sees, err := m.(platform.FactSource).Sees(t.Context())
	if err != nil || sees[len(sees)-1] != (platform.Fact{Name: "Disk", Value: "image " + pool + "/plimsoll-test-01"}) {
		t.Errorf("the guest has %+v, %v", sees, err)
	}
	if qemu.MayPostcopy() == nil {
		m.(*machine).SetMigration(string(qemu.Postcopy))
		if values, err := m.(platform.Disturbed).Disturb(t.Context()); err != nil || values["migration.total"] <= 0 {
			t.Errorf("migration: %v, %v", values, err)
		}
	}
	died(t, b, cluster, append(fio, "--rw=randwrite", "--time_based=1", "--runtime=60"))
}

// died has the cluster die under a load, which then ends.
func died(t *testing.T, b *testbed, cluster service.Instance, load []string) {
	t.Helper()
	ended := make(chan error, 1)
	begun := clusterBytes(t, cluster)
	go func() {
		r, err := b.Machine().Run(t.Context(), platform.Command{Argv: load})
		if err == nil && r.Exit == 0 {
			t.Errorf("a load without its disk ended well: %s", r.Stdout)
		}
		ended <- err
	}()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for clusterBytes(t, cluster)-begun < 1<<20 {
		<-tick.C
	}
	text, err := os.ReadFile(filepath.Join(b.home.File("host"), "ceph", "osd.0.pid"))
	if err == nil {
		var host platform.Machine
		if host, _, err = b.Host(t.Context()); err == nil {
			_, err = host.Run(t.Context(), platform.Command{Argv: []string{"kill", "-KILL", strings.TrimSpace(string(text))}})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	for cluster.(service.FailureReporter).Died() == nil {
		<-tick.C
	}
	if err := b.Detach(t.Context(), true); err != nil {
		t.Error(err)
	}
	select {
	case err := <-ended:
		t.Logf("the load ended: %v", err)
	case <-time.After(20 * time.Second):
		t.Error("the load goes on")
	}
}
