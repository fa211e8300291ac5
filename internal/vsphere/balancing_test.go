package vsphere_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/generate"
	"plimsoll/internal/load"
	"plimsoll/internal/vsphere/balancing"
	"plimsoll/internal/vsphere/sim"
	simclock "plimsoll/internal/vsphere/sim/clock"
	course "plimsoll/internal/vsphere/sim/load"
	"plimsoll/internal/workload/balance/subject"
)

// A round moves VMs off the hosts that are short, and the counters show that VMs lose less.
func TestBalancing(t *testing.T) {
	t.Parallel()
	s := opened(t, false)
	before := sampled(t, s)
	round, err := s.Balance(t.Context(), filepath.Join(t.TempDir(), "journal"))
	if err != nil || round.Planned == 0 || round.Made != round.Planned || round.Stopped != "" {
		t.Fatalf("%+v, %v", round, err)
	}
	moved := sampled(t, s).Moved // samples in which moves were made
	after := sampled(t, s)
	if moved += after.Moved; moved != round.Made {
		t.Errorf("%d VMs are on another host after %d moves", moved, round.Made)
	}
	lost := func(u subject.Usage) float64 { return 1 - u.Delivered/u.Demanded }
	if lost(before) < .05 || lost(after) > lost(before)/2 {
		t.Errorf("VMs lose %.3f before and %.3f after the round", lost(before), lost(after))
	}
	if after.Waited/after.Seconds > before.Waited/before.Seconds {
		t.Errorf("vCPUs wait %g before and %g after", before.Waited/before.Seconds, after.Waited/after.Seconds)
	}
}

// opened is the cluster of a simulator, plimsoll's or the original one, with VMs on few hosts.
func opened(t *testing.T, original bool) subject.Subject {
	t.Helper()
	g := generate.Typical(4, 3)
	g.VMs, g.Load, g.Skew = 60, 70, 90
	made, demand := generate.WithCourse(g)
	server, err := sim.Start(t.Context(), sim.Options{
		Clusters: []*cluster.Cluster{made}, Listen: "127.0.0.1:0", User: "operator", Password: "secret", Folder: t.TempDir(), Original: original,
		Clock: simclock.New(time.Now(), 600), Load: []course.Source{{Cluster: made, Course: course.Generated(demand)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	secret := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := balancing.Open(t.Context(), load.Endpoint{
		Network: "tcp", Address: server.URL().Host, TLS: true, Thumbprint: server.Thumbprints().SHA256, User: "operator", Secret: "file:" + secret,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// VMs of a vCenter that is not plimsoll's simulator stay where they are.
func TestBalancingLeavesOtherVCentersAlone(t *testing.T) {
	t.Parallel()
	s := opened(t, true)
	if round, err := s.Balance(t.Context(), filepath.Join(t.TempDir(), "journal")); err == nil || !strings.Contains(err.Error(), "cluster balance --live --apply") || round.Made > 0 {
		t.Errorf("%+v, %v", round, err)
	}
}

// sampled waits for whole samples.
func sampled(t *testing.T, s subject.Subject) (sum subject.Usage) {
	t.Helper()
	for sum.Seconds < 100 {
		u, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sum.Seconds, sum.Demanded, sum.Delivered, sum.Waited, sum.Moved = sum.Seconds+u.Seconds, sum.Demanded+u.Demanded, sum.Delivered+u.Delivered, sum.Waited+u.Waited, sum.Moved+u.Moved
	}
	return sum
}
