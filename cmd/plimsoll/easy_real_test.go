package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/catalog"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/easyrun"
)

// An easy run on a private cluster measures each job on images and on files, says what share the one is of the other, and which side limits where the
// images are much slower. One that is opened again has nothing left to run.
func TestRealEasyRun(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to start a real Ceph cluster")
	}
	l := &lab.Lab{Catalog: catalog.All(), Version: "test"}
	dir := filepath.Join(t.TempDir(), "easy")
	sets := []string{"hci.jobs=4k-write,large-read", "ceph.osds=3", "storage.disks=2", "storage.size=32MiB", "measure.warmup=1s", "measure.window=2s", "measure.longest=4s", "measure.blocks=1", "measure.retries=30"}
	p, err := easyrun.New(t.Context(), l, sets, 1, dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Create(dir); err != nil {
		t.Fatal(err)
	}
	if err := p.Create(dir); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("a folder serves twice: %v", err)
	}
	o, err := p.Run(t.Context(), l, dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range o.Rows {
		slow := r.Share != nil && r.Share.Value < .5 // else one block may not decide that images differ from files, and limits are not explained
		if r.Fault != "" || r.Rate == nil || *r.Rate < 10 || r.P95 == nil || r.Share == nil || r.Share.Value <= 0 || slow && r.Side == "" {
			text, _ := json.Marshal(r)
			t.Errorf("%s", text)
		}
		if _, err := os.Stat(filepath.Join(dir, r.Dir, "report.html")); err != nil {
			t.Error(err)
		}
	}
	again, err := easyrun.Open(l, dir)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, "overview.json"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Run(t.Context(), l, dir); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(filepath.Join(dir, "overview.json")); err != nil || string(after) != string(before) {
		t.Errorf("the figures changed: %v\n%s\n%s", err, before, after)
	}
}
