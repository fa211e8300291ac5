package document_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/cluster/snapshot"
	"plimsoll/internal/document"
)

// Snapshots as they are written are read without the YAML parser, but for a few lines.
func TestSectionsOfASnapshot(t *testing.T) {
	c := clustertest.Random(clustertest.Spec{Seed: 3, Hosts: 4, VMs: 30, Pools: 2, Rules: 3, Load: .5, Placed: true})
	want := map[string]int{"pools": 2, "hosts": 4, "vms": 30, "rules": 3}
	var text bytes.Buffer
	if err := snapshot.Write(&text, c); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, document.FastLists(text.String())); diff != "" {
		t.Error(diff)
	}
}
