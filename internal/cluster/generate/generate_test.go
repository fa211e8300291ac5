package generate_test

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/generate"
	"plimsoll/internal/cluster/snapshot"
	"plimsoll/internal/effort"
)

// text is a cluster as its snapshot.
func text(t *testing.T, c *cluster.Cluster) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := snapshot.Write(&b, c); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func made(s generate.Spec) *cluster.Cluster {
	c, _ := generate.Cluster(s)
	return c
}

func varied(hosts int, seed uint64) generate.Spec {
	s := generate.Typical(hosts, seed)
	s.Mixed = seed%2 == 0
	s.Waiting = int(seed % 5)
	s.VMs = hosts * []int{4, 16, 40}[seed%3]
	s.Load = 30 + int(seed*7%40)
	s.Rules = hosts * int(seed%4)
	s.Skew = int(seed * 13 % 60)
	s.Minute = int64(seed) * 977
	return s
}

func TestSameSeedSameBytes(t *testing.T) {
	for _, hosts := range []int{1, 5, 40} {
		for seed := range uint64(effort.Of(4)) {
			s := varied(hosts, seed)
			want := text(t, made(s))
			same := make([]*cluster.Cluster, 4)
			var wait sync.WaitGroup
			for i := range same {
				wait.Go(func() { same[i] = made(s) })
			}
			wait.Wait()
			for _, c := range same {
				if !bytes.Equal(text(t, c), want) {
					t.Errorf("%d hosts, seed %d: two runs differ", hosts, seed)
				}
			}
			s.Seed += 100
			if bytes.Equal(text(t, made(s)), want) {
				t.Errorf("%d hosts: seeds %d and %d give the same cluster", hosts, seed, s.Seed)
			}
		}
	}
}

func TestSnapshotsAreReadBack(t *testing.T) {
	for seed := range uint64(effort.Of(12)) {
		want := text(t, made(varied(4+int(seed)*3, seed)))
		c, err := snapshot.Read("generated.yaml", want)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !bytes.Equal(text(t, c), want) {
			t.Errorf("seed %d: what is read back is another cluster", seed)
		}
	}
}

// Layouts violate no hard constraint, and every VM that does not wait runs.
func TestLayoutsBreakNothing(t *testing.T) {
	seeds := effort.Of(16)
	for seed := range uint64(seeds) {
		for _, hosts := range []int{4, 9, 32, 60 + int(seed)*140/(seeds-1)} {
			s := varied(hosts, seed)
			check(t, s, made(s))
		}
	}
}

func TestThousandsOfHosts(t *testing.T) {
	s := generate.Typical(effort.Of(2000), 1)
	s.VMs, s.Pools = effort.Of(35_000), effort.Of(200)
	check(t, s, made(s))
}

func check(t *testing.T, s generate.Spec, c *cluster.Cluster) {
	t.Helper()
	name := fmt.Sprintf("%d hosts, %d VMs, seed %d", s.Hosts, s.VMs, s.Seed)
	if len(c.Hosts) != s.Hosts || len(c.VMs) != s.VMs || len(c.Pools) != s.Pools+1 || len(c.Rules) > s.Rules {
		t.Errorf("%s: got %d hosts, %d VMs, %d pools, %d rules", name, len(c.Hosts), len(c.VMs), len(c.Pools), len(c.Rules))
	}
	for _, v := range cluster.Violations(c, func(v cluster.VMID) cluster.HostID { return c.VMs[v].Host }) {
		t.Errorf("%s: %s", name, v.Text)
	}
	waiting, nowhere := 0, 0
	names := map[string]bool{}
	for i := range c.VMs {
		v := &c.VMs[i]
		names[v.Name] = true
		if v.Waiting {
			waiting++
		}
		if v.Host == cluster.Nowhere {
			nowhere++
		}
	}
	if waiting != s.Waiting || nowhere != s.Waiting {
		t.Errorf("%s: %d wait and %d run nowhere, of %d that should", name, waiting, nowhere, s.Waiting)
	}
	if len(names) != s.VMs {
		t.Errorf("%s: %d names", name, len(names))
	}
}

// Values out of range are clamped, and the cluster is valid.
func TestOutOfRange(t *testing.T) {
	worst := generate.Spec{Seed: 1 << 63, Hosts: -4, VMs: -1, Waiting: 7, Pools: -1, Rules: -9, Networks: -1, Datastores: -1, Load: -5, Commit: 900, Skew: -1, Minute: -1}
	c := made(worst)
	if len(c.Hosts) != 1 || len(c.VMs) != 0 || len(c.Pools) != 1 {
		t.Errorf("%d hosts, %d VMs, %d pools", len(c.Hosts), len(c.VMs), len(c.Pools))
	}
	text(t, c)
	for _, s := range []generate.Spec{{}, {Hosts: 2, VMs: 3, Waiting: 9, Pools: 1, Load: 1000, Skew: 1000}, {Hosts: 3, VMs: 400, Networks: 1000, Datastores: 1000, Rules: 5000}} {
		text(t, made(s))
	}
	if generate.Typical(1<<40, 1).Hosts != 20_000 {
		t.Error("a cluster without limits")
	}
}

func TestValidateNamesWhatIsOutOfRange(t *testing.T) {
	for _, hosts := range []int{1, 4, 2000} {
		if err := generate.Typical(hosts, 1).Validate(); err != nil {
			t.Errorf("%d hosts: %v", hosts, err)
		}
	}
	for _, c := range []struct {
		change func(*generate.Spec)
		want   string
	}{
		{func(s *generate.Spec) { s.Hosts = 0 }, "hosts is 0: must be from 1 to 20000"},
		{func(s *generate.Spec) { s.VMs = -1 }, "vms is -1: must be from 0 to 400000"},
		{func(s *generate.Spec) { s.Waiting = s.VMs + 1 }, "waiting is 65: must be from 0 to 64"},
		{func(s *generate.Spec) { s.Load = 101 }, "load is 101: must be from 1 to 100"},
		{func(s *generate.Spec) { s.Load, s.Skew = -1, 101 }, "load is -1: must be from 1 to 100; skew is 101: must be from 0 to 100"},
		{func(s *generate.Spec) { s.Minute = 366*1440 + 1 }, "minute is 527041: must be from 0 to 527040"},
	} {
		s := generate.Typical(4, 1)
		c.change(&s)
		if err := s.Validate(); err == nil || err.Error() != c.want {
			t.Errorf("%v, and not: %s", err, c.want)
		}
	}
}
