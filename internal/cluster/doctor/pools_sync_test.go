package doctor_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/cluster/divvy/hosttree"
	"plimsoll/internal/cluster/doctor/pools"
)

// The number of operations does not depend on the order of a later snapshot, is the reported
// one, and never exceeds a rebuild; without a change it is zero.
func TestSyncHosts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	skipped := 0
	for seed := range uint64(30) {
		before := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: 4, VMs: 30, Load: .7, Pools: 8, Placed: true})
		after := *before
		after.VMs = slices.Clone(before.VMs)
		for range 2 {
			after.VMs[r.IntN(30)].Host = cluster.HostID(r.IntN(4))
		}
		sync := func(to *cluster.Cluster, only string) *pools.Sync {
			t.Helper()
			s, err := pools.SyncHosts(before, to, only, hosttree.DefaultTolerance())
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			return s
		}
		s := sync(&after, "")
		reversed := after
		reversed.VMs = slices.Clone(after.VMs)
		slices.Reverse(reversed.VMs)
		if one, two := written(t, s), written(t, sync(&reversed, "")); one != two {
			t.Errorf("seed %d: the order of VMs counts:\n%s\n%s", seed, one, two)
		}
		ops := 0
		for i := range s.Hosts {
			h := &s.Hosts[i]
			if ops += len(h.Ops); len(h.Ops) > h.Rebuild {
				t.Errorf("seed %d: %s takes %d operations, a rebuild %d", seed, h.Host, len(h.Ops), h.Rebuild)
			}
			if alone := sync(&after, h.Host); written(t, &alone.Hosts[0]) != written(t, h) || len(alone.Hosts) != 1 {
				t.Errorf("seed %d: %s alone is another", seed, h.Host)
			}
		}
		if ops != s.Ops || s.Ops > s.Rebuild {
			t.Errorf("seed %d: %d operations counted of %d", seed, s.Ops, ops)
		}
		if same := sync(before, ""); same.Ops != 0 || same.Skipped == 0 {
			t.Errorf("seed %d: without a change %+v", seed, same)
		}
		skipped += s.Skipped
	}
	if skipped == 0 {
		t.Error("no part is ever skipped")
	}
}

func written(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSyncOfNewAndGoneHosts(t *testing.T) {
	before := clustertest.Random(clustertest.Spec{Seed: 3, Hosts: 30, VMs: 600, Load: .7, Pools: 8, Placed: true})
	after := *before
	after.Hosts = slices.Clone(before.Hosts)
	after.Hosts[0].Name = "fresh"
	s, err := pools.SyncHosts(before, &after, "", hosttree.Precise())
	if err != nil {
		t.Fatal(err)
	}
	fresh := &s.Hosts[0]
	if !fresh.New || len(fresh.Ops) == 0 || fresh.Ops[0].Verb != "change pool" || len(fresh.Ops) > fresh.Rebuild || !slices.Equal(s.Gone, []string{"host-0"}) || s.Hosts[1].New {
		t.Errorf("%+v, gone %v", fresh, s.Gone)
	}
	var b bytes.Buffer
	if err := s.Text(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"fresh (new)", "more (--host fresh lists all)", "Removed hosts\n  host-0"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("nothing says %q in\n%s", want, b.String())
		}
	}
	only, err := pools.SyncHosts(before, &after, "fresh", hosttree.Precise())
	if err != nil || only.Gone != nil {
		t.Fatal(only, err)
	}
	b.Reset()
	if err := only.Text(&b); err != nil || strings.Contains(b.String(), "more:") || strings.Count(b.String(), "\n  ") != len(fresh.Ops) {
		t.Errorf("%v: %s", err, b.String())
	}
	after.Hosts = after.Hosts[:1]
	after.VMs = nil
	if _, err := pools.SyncHosts(before, &after, "", hosttree.Precise()); err == nil || !strings.Contains(err.Error(), "no host name in common") {
		t.Error(err)
	}
}
