package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/catalog"
	"plimsoll/internal/effort"
	"plimsoll/internal/lab"
	"plimsoll/internal/trial"
)

const poolStudy = `study: pools
question: What do pools of one cluster cost?
platform: local
service: {ceph: {osds: 3, size: 2GiB}}
workload:
  storage: {disks: 1, size: 64MiB, block: 64KiB, read: 100%, random: 100%, depth: 4}
factors:
FACTORS
measure: {settle: 0s, warmup: 500ms, window: 1s, longest: 2s, blocks: BLOCKS, retries: 4}
headline: [iops]
`

// clusters counts the clusters whose configurations are in a folder one after the other, until the context is done.
func clusters(ctx context.Context, dir string) func() int {
	seen := map[string]bool{}
	var under sync.WaitGroup
	under.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			text, _ := os.ReadFile(filepath.Join(dir, "ceph.conf"))
			for line := range strings.Lines(string(text)) {
				if id, ok := strings.CutPrefix(line, "fsid = "); ok {
					seen[id] = true
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return func() int { under.Wait(); return len(seen) }
}

// varied runs a study of a cluster with factors, and returns its outcome, how often a cluster was started, and an image filled.
func varied(t *testing.T, factors, blocks string) (o *lab.Outcome, starts, fills int) {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to start a real Ceph cluster")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "pools.yaml")
	if err := os.WriteFile(file, []byte(strings.NewReplacer("FACTORS", factors, "BLOCKS", blocks).Replace(poolStudy)), 0o600); err != nil {
		t.Fatal(err)
	}
	last := ""
	l := &lab.Lab{Catalog: catalog.All(), Version: "test", Progress: func(e trial.Event) {
		if strings.HasPrefix(e.Note, "filling disk") && e.Note != last {
			fills++
		}
		last = e.Note
	}}
	source, err := l.Read(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	counted := clusters(ctx, filepath.Join(dir, "results", "scratch", "service", "ceph"))
	o, err = l.Run(ctx, lab.Request{Source: *source, Dir: filepath.Join(dir, "results"), Seed: 1})
	cancel()
	starts = counted()
	if o == nil { // a busy machine may have no valid trial
		t.Fatal(err)
	}
	if left := clusterProcesses(dir); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "results", "scratch", "*", "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	return o, starts, fills
}

// Arms that differ in their pools share a cluster, in which their images stay; each level is read back from it.
func TestRealPoolsOfOneCluster(t *testing.T) {
	effort.Deep(t, "compare pools of one cluster")
	o, starts, fills := varied(t, `  ceph.redundancy: ["replica:2", "ec:2+1"]
  ceph.compression: [none, lz4]`, "2")
	seen := map[string]bool{}
	for _, r := range o.Input.Records {
		seen[r.Observed["ceph.redundancy"]+" "+r.Observed["ceph.compression"]] = true
		for _, factor := range []string{"ceph.redundancy", "ceph.compression"} {
			if r.Observed[factor] != r.Levels[factor] {
				t.Errorf("trial %d (%s): %s is %q, want %q", r.Trial, r.Void, factor, r.Observed[factor], r.Levels[factor])
			}
		}
		t.Logf("trial %d: %v, %v", r.Trial, r.Levels, r.Void)
	}
	if len(seen) != 4 || starts != 1 || fills != 4 {
		t.Errorf("arms %v on %d clusters, with %d images filled in %d trials; want 4 arms on one with an image each", seen, starts, fills, len(o.Input.Records))
	}
}

// A factor that no running cluster takes on has a fresh one in each trial.
func TestRealFreshClusterForEachTrial(t *testing.T) {
	effort.Deep(t, "start a cluster for each trial")
	o, starts, _ := varied(t, "  ceph.osds: [3, 2]", "1")
	for _, r := range o.Input.Records {
		if r.Observed["ceph.osds"] != r.Levels["ceph.osds"] {
			t.Errorf("trial %d (%s): %q OSDs, want %s", r.Trial, r.Void, r.Observed["ceph.osds"], r.Levels["ceph.osds"])
		}
	}
	if n := len(o.Input.Records); starts != n || n < 2 {
		t.Errorf("%d clusters for %d trials", starts, n)
	}
}
