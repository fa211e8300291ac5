package main

import (
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/catalog"
	"plimsoll/internal/lab"
)

const imageStudy = `study: images
question: How many bytes do devices write for each of a client?
platform: local
service: {ceph: {osds: 3, size: 2GiB}}
workload:
  storage: {disks: 2, size: 64MiB, block: 1MiB, read: 0%, random: 0%, depth: 4, precondition: zero}
measure: {settle: 0s, warmup: 2s, window: 3s, longest: 5s, blocks: 1, retries: 4}
headline: [iops]
margin: 50%
`

// Images of a real cluster are made, filled and written; the ledger of bytes is in the records, and nothing is left behind.
func TestRealImagesOfACluster(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to start a real Ceph cluster")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "images.yaml")
	if err := os.WriteFile(file, []byte(imageStudy), 0o600); err != nil {
		t.Fatal(err)
	}
	l := &lab.Lab{Catalog: catalog.All(), Version: "test"}
	source, err := l.Read(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	o, err := l.Run(t.Context(), lab.Request{Source: *source, Dir: filepath.Join(dir, "results"), Seed: 1})
	if o == nil { // a busy machine may have no valid trial
		t.Fatal(err)
	}
	found := false
	for _, r := range o.Input.Records {
		if r.Counters["ceph.write_bytes"] < 1<<20 {
			continue
		}
		found = true
		// Two copies, and what the logs take. A file system in memory counts no bytes.
		amplification, ok := r.Counters["ceph.amplification.write"]
		if ok && (amplification < 1.8 || amplification > 2.6) || r.Counters["ceph.up"] != 3 || r.Counters["ceph.writes.latency"] <= 0 {
			t.Errorf("trial %d (%s): amplification %v, %v OSDs, a write takes %v s", r.Trial, r.Void, amplification, r.Counters["ceph.up"], r.Counters["ceph.writes.latency"])
		}
	}
	if !found {
		t.Errorf("no record has the bytes of the cluster: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "results", "scratch", "*", "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
