package doctor_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/cluster/divvy"
	"plimsoll/internal/cluster/doctor/whatif"
	"plimsoll/internal/cluster/snapshot"
)

func TestSettings(t *testing.T) {
	c := clustertest.Sound()
	c.Pools[2].Name = "a-3" // as a VM
	for text, want := range map[string]string{
		"a-1.cpu.shares=9000":         "a-1.cpu.shares=9000",
		"a-1.cpu.shares=high":         "a-1.cpu.shares=8000",
		"a-1.memory.shares=low":       "a-1.memory.shares=81920",
		"gold.cpu.shares=high":        "pool:gold.cpu.shares=8000",
		"pool:gold.memory.limit=none": "pool:gold.memory.limit=none",
		"a-1.cpu.limit=2.5GHz":        "a-1.cpu.limit=2500MHz",
		"a-1.memory.reservation=8GiB": "a-1.memory.reservation=8192MiB",
		"vm:a-3.cpu.shares=1":         "a-3.cpu.shares=1",
		"pool:a-3.cpu.shares=1":       "pool:a-3.cpu.shares=1",
	} {
		s, err := whatif.ParseSetting(c, text)
		if err != nil || s.String() != want {
			t.Errorf("%s: %s, %v; want %s", text, s.String(), err, want)
		}
	}
	for text, want := range map[string]string{
		"a-1": "write NAME.cpu", "cpu.shares=1": "write NAME.cpu", "a-9.cpu.shares=1": "no VM or pool \"a-9\"", "a-1.disk.shares=1": "must be cpu or memory",
		"a-1.cpu.weight=1GHz": "must be reservation, limit or shares", "a-1.cpu.shares=0": "1 to 1000000", "a-1.cpu.limit=8GiB": "is not an amount of cpu",
		"a-1.cpu.limit=1e9GHz": "must be an amount with its unit", "a-1.cpu.limit=0.0001MHz": "is not a whole number", "a-3.cpu.shares=1": "write vm:a-3 or pool:a-3",
		"a-1.cpu.limit=-1MHz": "must be an amount", "a-1.cpu.limit=1.2.3MHz": "must be an amount", "a-1.cpu.limit=99999999999999999TiB": "too large",
	} {
		if s, err := whatif.ParseSetting(c, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want %q", text, s, err, want)
		}
	}
	c.VMs[0].CPU.Reservation = 3000
	if _, err := whatif.ParseSetting(c, "a-1.cpu.limit=2GHz"); err == nil || !strings.Contains(err.Error(), "above the limit") {
		t.Errorf("a limit below the reservation: %v", err)
	}
}

func FuzzSetting(f *testing.F) {
	f.Add("a-1.cpu.shares=9000")
	f.Add("pool:gold.memory.limit=1.5TiB")
	f.Add("vm:.cpu.limit=none")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := whatif.ParseSetting(clustertest.Sound(), text)
		if err != nil {
			return
		}
		if again, err := whatif.ParseSetting(clustertest.Sound(), s.String()); err != nil || again.String() != s.String() {
			t.Errorf("%q reads as %s, and that as %s: %v", text, s.String(), again.String(), err)
		}
	})
}

func TestScripts(t *testing.T) {
	c := clustertest.Sound()
	c.Name, c.Pools[2].Parent, c.Pools[2].Name = "a/b", 1, "it's"
	for text, want := range map[string]string{
		"a-1.cpu.shares=9000":           "govc vm.change -vm a-1 -cpu.shares=9000",
		"a-1.memory.limit=none":         "govc vm.change -vm a-1 -mem.limit=-1",
		"it's.memory.reservation=1GiB":  `govc pool.change -mem.reservation=1024 'a%2fb/Resources/gold/it'\''s'`,
		"pool:gold.cpu.limit=1GHz":      "govc pool.change -cpu.limit=1000 'a%2fb/Resources/gold'",
		"pool:gold.memory.shares=10000": "govc pool.change -mem.shares=10000 'a%2fb/Resources/gold'",
	} {
		s, err := whatif.ParseSetting(c, text)
		if err != nil || s.Script(c) != want {
			t.Errorf("%s: %s, %v; want %s", text, s.Script(c), err, want)
		}
	}
}

func TestChanges(t *testing.T) {
	c := clustertest.Lopsided()
	c.Rules = []cluster.Rule{{Name: "stay", Kind: cluster.OnHosts, Must: true, VMs: []cluster.VMID{0, 1, 2, 3, 4, 5}, Hosts: []cluster.HostID{0}}}
	for _, tc := range []struct {
		name   string
		change whatif.Change
		moves  int // then; -1 for some
	}{
		{"nothing", whatif.Change{}, 0}, {"all rules dropped", whatif.Change{DropAll: true}, -1}, {"the rule dropped", whatif.Change{DropRules: []string{"stay"}}, -1},
		{"level 1", whatif.Change{DropAll: true, Level: 1}, 0}, {"a host more, of no use", whatif.Change{AddHosts: []string{"esx-4=esx-1"}}, 0},
	} {
		got, err := whatif.Compare(c, tc.change)
		if err != nil || (len(got.Then.Moves) != tc.moves) != (tc.moves < 0) || len(got.Now.Moves) != 0 {
			t.Errorf("%s: %v, %d moves", tc.name, err, len(got.Then.Moves))
		}
	}
	got, err := whatif.Compare(c, whatif.Change{AddHosts: []string{"esx-4=esx-1"}, Fail: []string{"esx-4"}, Headroom: "12.5%", Set: []string{"a-1.cpu.limit=1GHz"}})
	if err != nil || len(got.Then.Hosts) != 4 || got.Then.Hosts[3].State != "failed" || got.Then.Lost[0] <= got.Now.Lost[0] {
		t.Errorf("%v %+v", err, got)
	}
	if i := slices.IndexFunc(got.Entitled, func(c whatif.Changed) bool { return c.Name == "a-1" }); i < 0 || got.Entitled[i].Now.CPU != 5000 || got.Entitled[i].Then.CPU != 1000 {
		t.Errorf("%+v", got.Entitled)
	}
	if c.VMs[0].CPU.Limit != cluster.Unlimited || len(c.Hosts) != 3 || c.Rules[0].Disabled {
		t.Error("the cluster itself was changed")
	}
	for want, change := range map[string]whatif.Change{
		"no host \"esx-9\"": {AddHosts: []string{"new=esx-9"}}, "must be NEW=LIKE": {AddHosts: []string{"new"}}, "already has a host \"esx-2\"": {AddHosts: []string{"esx-2=esx-1"}},
		"a percentage": {Headroom: "5"}, "no rule": {DropRules: []string{"x"}}, "level 7": {Level: 7},
	} {
		if _, err := whatif.Compare(c, change); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", change, err, want)
		}
	}
}

// crowded is a cluster in which shares decide.
func crowdedCluster(seed uint64) *cluster.Cluster {
	c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: 3, VMs: 60, Pools: 4, Load: 2.5})
	for v := range c.VMs {
		c.VMs[v].Host, c.VMs[v].Waiting = cluster.HostID(v%3), false
		c.VMs[v].CPU.Reservation, c.VMs[v].Mem.Reservation = 0, 0
	}
	if seed%3 == 0 {
		c.Pools[2].CPU.Limit = 30000
	}
	if seed%4 == 0 {
		c.Pools[1].CPU.Expandable, c.Pools[1].CPU.Reservation = false, 3000
	}
	return c
}

// entitledTo is what a VM gets when it asks for an amount, computed anew.
func entitledTo(c *cluster.Cluster, v cluster.VMID, asks int64) int64 {
	own := *c
	own.VMs = slices.Clone(c.VMs)
	if own.VMs[v].Demand.CPU.Recent < float64(asks) {
		own.VMs[v].Demand.CPU = cluster.Steady(float64(asks))
	}
	x := cluster.NewIndex(&own)
	return divvy.Divide(&own, x, x.Total(&own), nil).VM(v).CPU
}

// Every way that is told leads to the goal once its settings are made, and one that is
// a single setting no longer does when it is less by one.
func TestWaysAreEnoughAndLeast(t *testing.T) {
	ways := 0
	for seed := range uint64(80) {
		c := crowdedCluster(seed)
		v := cluster.VMID(seed % 60)
		target := int64(c.VMs[v].VCPUs) * 2600 * 9 / 10
		e, err := whatif.FindEntitlement(c, v, cluster.CPU, target)
		if err != nil {
			t.Fatal(err)
		}
		if got := entitledTo(c, v, target); got != e.Gets {
			t.Errorf("seed %d: it gets %d, said %d", seed, got, e.Gets)
		}
		if e.Gets >= target != (len(e.Ways) == 0 && e.Most >= target) {
			t.Errorf("seed %d: %+v", seed, e)
		}
		for _, w := range e.Ways {
			ways++
			var set []string
			for _, one := range w.Changes {
				set = append(set, one.Setting)
			}
			then, err := whatif.WithChange(c, whatif.Change{Set: set})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if got := entitledTo(then, v, target); got < target || got != w.Gets {
				t.Errorf("seed %d: %q brings %d of %d, said %d", seed, set, got, target, w.Gets)
			}
			if len(set) > 1 {
				continue
			}
			less, _ := whatif.ParseSetting(c, set[0])
			less.Value--
			then, _ = whatif.WithChange(c, whatif.Change{Set: []string{less.String()}})
			if got := entitledTo(then, v, target); got >= target {
				t.Errorf("seed %d: %s is enough as well", seed, less.String())
			}
		}
	}
	if ways < 100 {
		t.Errorf("%d ways: the test sees too little", ways)
	}
}

func TestNoWay(t *testing.T) {
	c := clustertest.Sound()
	c.VMs[3].VCPUs, c.VMs[3].CPU.Reservation, c.VMs[3].Demand.CPU = 48, 115000, cluster.Steady(119000)
	e, err := whatif.FindEntitlement(c, 0, cluster.CPU, 9000)
	if err != nil || len(e.Ways) > 0 || e.Most < 4500 || e.Most >= 9000 {
		t.Errorf("%+v %v", e, err)
	}
	var b strings.Builder
	if err := e.Text(&b); err != nil || !strings.Contains(b.String(), "No settings of the VM or its pools reach that") {
		t.Errorf("%s %v", b.String(), err)
	}
	if _, err := whatif.FindEntitlement(c, 0, cluster.CPU, 10001); err == nil || !strings.Contains(err.Error(), "give at most 10000 MHz") {
		t.Errorf("%v", err)
	}
	c.VMs[0].Host = cluster.Nowhere
	if _, err := whatif.FindEntitlement(c, 0, cluster.CPU, 100); err == nil || !strings.Contains(err.Error(), "is not running") {
		t.Errorf("%v", err)
	}
}

// A pool with a reservation of its own that cannot grow refuses a VM's.
func TestAFixedPoolRefusesAReservation(t *testing.T) {
	for _, fixed := range []bool{false, true} {
		c := clustertest.Sound()
		c.Pools[1].CPU.Expandable, c.Pools[1].CPU.Reservation = !fixed, 1000
		for v := range c.VMs {
			c.VMs[v].VCPUs, c.VMs[v].Demand.CPU = 16, cluster.Steady(40000)
		}
		e, err := whatif.FindEntitlement(c, 0, cluster.CPU, 30000)
		if err != nil {
			t.Fatal(err)
		}
		reserves := slices.ContainsFunc(e.Ways, func(w whatif.Combination) bool {
			return len(w.Changes) == 1 && strings.HasPrefix(w.Changes[0].Setting, "a-1.cpu.reservation=")
		})
		if reserves == fixed || len(e.Ways) == 0 {
			t.Errorf("fixed %v: %+v", fixed, e.Ways)
		}
	}
}

func TestWaysAsText(t *testing.T) {
	text, err := os.ReadFile("testdata/lab.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := snapshot.Read("lab.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	v := cluster.VMID(slices.IndexFunc(c.VMs, func(v cluster.VM) bool { return v.Name == "build-1" }))
	e, err := whatif.FindEntitlement(c, v, cluster.CPU, 6000)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := e.Text(&b); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/entitle.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// If the pool is too small and the VM one of many in it, one setting is not enough.
func TestTwoSettingsAreNeeded(t *testing.T) {
	c := clustertest.Sound()
	c.VMs[3].Pool = 1
	c.Pools[1].CPU.Expandable, c.Pools[1].CPU.Shares, c.Pools[2].CPU.Shares = false, 1000, 9000
	for v := range c.VMs {
		c.VMs[v].VCPUs, c.VMs[v].Demand.CPU = 16, cluster.Steady(40000)
	}
	for _, v := range []cluster.VMID{4, 5} {
		c.VMs[v].VCPUs, c.VMs[v].Demand.CPU = 32, cluster.Steady(80000)
	}
	e, err := whatif.FindEntitlement(c, 0, cluster.CPU, 36000)
	if err != nil || len(e.Ways) == 0 {
		t.Fatalf("%+v %v", e, err)
	}
	for _, w := range e.Ways {
		var set []string
		for _, one := range w.Changes {
			set = append(set, one.Setting)
		}
		then, err := whatif.WithChange(c, whatif.Change{Set: set})
		if err != nil || len(set) != 2 || entitledTo(then, 0, 36000) < 36000 || w.Losers == 0 || w.Worst == "" {
			t.Errorf("%+v %v", w, err)
		}
		for i := range set {
			if then, _ := whatif.WithChange(c, whatif.Change{Set: set[i : i+1]}); entitledTo(then, 0, 36000) >= 36000 {
				t.Errorf("%s alone is enough", set[i])
			}
		}
	}
}
