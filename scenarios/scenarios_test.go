package scenarios_test

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/replay"
	"plimsoll/internal/cluster/replay/strategy"
	"plimsoll/internal/cluster/scenario"
	"plimsoll/internal/cluster/snapshot"
	"plimsoll/internal/effort"
	"plimsoll/scenarios"
)

// calm are the scenarios in which nothing has to move.
var calm = []string{"ping-pong", "quiet-lab", "scan-of-all", "steady", "steady-full", "uneven-harmless"}

func TestScenarios(t *testing.T) {
	names := scenarios.Names()
	if len(names) < 34 {
		t.Errorf("%d scenarios, and the suite has at least 34", len(names))
	}
	for _, name := range calm {
		if !slices.Contains(names, name) {
			t.Errorf("there is no scenario %s", name)
		}
	}
	var ran, costly atomic.Int64
	t.Run("all", func(t *testing.T) {
		for i, name := range names {
			t.Run(name, func(t *testing.T) {
				if !deep() {
					t.Parallel()
				}
				s := check(t, name)
				if !effort.Full() && i%3 > 0 {
					return
				}
				ran.Add(1)
				if runs(t, s) {
					costly.Add(1)
				}
			})
		}
	})
	// One in which doing nothing costs nothing tells policies apart only by the moves that
	// they should not have made.
	if n, of := costly.Load(), ran.Load(); 3*n < 2*of && !t.Failed() {
		t.Errorf("only %d of %d scenarios cost something when nothing is done", n, of)
	}
}

// check checks one scenario.
func check(t *testing.T, name string) *scenario.Scenario {
	t.Helper()
	text, err := scenarios.Text(name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := snapshot.ReadScenario(name+".yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	readable(t, s, text)
	unbroken(t, s.Cluster)
	fits(t, s)
	return s
}

func readable(t *testing.T, s *scenario.Scenario, text []byte) {
	t.Helper()
	if s.Cluster.Name != s.Name {
		t.Errorf("the cluster is named %s", s.Cluster.Name)
	}
	if s.What == "" {
		t.Error("it does not say what it is about")
	}
	if s.Length < 3600 || s.Length > 72*3600 {
		t.Errorf("it lasts %d s", s.Length)
	}
	if n := len(s.Cluster.Hosts); n < 2 || n > 32 {
		t.Errorf("it has %d hosts", n)
	}
	if n := bytes.Count(text, []byte("\n")); n > 45 {
		t.Errorf("%d lines are more than a person reads at once", n)
	}
	if !bytes.HasPrefix(text, []byte("# ")) || bytes.Contains(text, []byte("\n#")) {
		t.Error("it does not have one comment, at its top")
	}
}

func unbroken(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	for _, v := range cluster.Violations(c, func(v cluster.VMID) cluster.HostID { return c.VMs[v].Host }) {
		t.Error(v.Text)
	}
}

// fits checks that what VMs ask for is more than the connected hosts have only for
// a while, or in a scenario that says so.
func fits(t *testing.T, s *scenario.Scenario) {
	t.Helper()
	l := loadOf(s)
	t.Logf("%d hosts, %d VMs, %d h: cpu %.0f %%, at most %.0f %%; memory at most %.0f %%; over for %.0f %% of the time",
		len(s.Cluster.Hosts), len(s.Cluster.VMs), s.Length/3600, 100*l.cpu, 100*l.most, 100*l.memory, 100*l.over)
	if meant := strings.Contains(s.Name, "overcommitted"); !meant && l.over > .1 || meant && l.over == 0 {
		t.Errorf("more is asked for than the hosts have, for %.0f %% of the time", 100*l.over)
	}
}

// load is what VMs ask for over time, as shares of what connected hosts have.
type load struct{ cpu, most, memory, over float64 }

func loadOf(s *scenario.Scenario) (l load) {
	due, up := make([]bool, len(s.Cluster.VMs)), make([]cluster.HostState, len(s.Cluster.Hosts))
	for v := range due {
		due[v] = s.Cluster.VMs[v].Host != cluster.Nowhere || s.Cluster.VMs[v].Waiting
	}
	for h := range up {
		up[h] = s.Cluster.Hosts[h].State
	}
	events, n := s.Events, 0.
	for at := int64(0); at < s.Length; at += 300 {
		for ; len(events) > 0 && events[0].At <= at; events = events[1:] {
			for _, h := range events[0].Hosts {
				up[h] = events[0].State
			}
			for _, v := range events[0].VMs {
				due[v] = events[0].Kind == scenario.ArriveEvent
			}
		}
		asked, all := asks(s, due, at), cluster.Resources{}
		for h := range up {
			if up[h] == cluster.Connected || up[h] == cluster.Quarantined {
				all = all.Plus(s.Cluster.Hosts[h].Capacity())
			}
		}
		cpu, memory := float64(asked.CPU)/float64(all.CPU), float64(asked.Memory)/float64(all.Memory)
		l.cpu, l.most, l.memory, n = l.cpu+cpu, max(l.most, cpu), max(l.memory, memory), n+1
		if !asked.Fits(all) {
			l.over++
		}
	}
	l.cpu, l.over = l.cpu/n, l.over/n
	return l
}

func asks(s *scenario.Scenario, due []bool, at int64) (sum cluster.Resources) {
	for v := range due {
		if due[v] {
			vm, d := &s.Cluster.VMs[v], s.Demand.At(cluster.VMID(v), at)
			sum = sum.Plus(cluster.Resources{CPU: min(d.CPU, vm.CPU.Limit), Memory: min(d.Active, vm.Mem.Limit) + vm.Overhead})
		}
	}
	return sum
}

// mostSamples keeps a run below three seconds on one core.
const mostSamples = 300_000

// runs says whether it costs something to do nothing. In the deep tier plimsoll's own
// policy runs as well, and both have three seconds.
func runs(t *testing.T, s *scenario.Scenario) (costs bool) {
	t.Helper()
	if n := int64(len(s.Cluster.VMs)) * s.Length / scenario.Step; n > mostSamples {
		t.Errorf("%d samples of demand are more than %d: use a shorter length, or fewer VMs", n, mostSamples)
	}
	limit := 8 * time.Minute // on a machine that is busy with other tests, and less than go test waits
	if deep() {
		limit = 3 * time.Second
		run(t, s, "plimsoll", limit)
	}
	o := run(t, s, "idle", limit)
	costs = lacks(o)
	if slices.Contains(calm, s.Name) && (costs || o.Moves > 0) {
		t.Error("something has to move")
	}
	return costs
}

func run(t *testing.T, s *scenario.Scenario, policy string, limit time.Duration) *replay.Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	began := time.Now()
	k, err := strategy.Named(policy)
	if err != nil {
		t.Fatal(err)
	}
	o, err := replay.Run(ctx, s, k.New())
	if err != nil {
		t.Fatalf("under %s it does not end in %v: %v", policy, limit, err)
	}
	t.Logf("%s: short %d GHz.s and %d GiB.s, moves %d, %v", policy, o.Short.CPU/1_000_000, o.Short.Memory/1024/1000, o.Moves, time.Since(began).Round(time.Millisecond))
	return o
}

func deep() bool { return os.Getenv("PLIMSOLL_DEEP") == "1" }

// lacks says whether VMs lacked a core for ten minutes, or 4 GiB.
func lacks(o *replay.Outcome) bool {
	const while = 600 * 1000 // milliseconds
	return o.Short.CPU > 2500*while || o.Short.Memory > 4096*while
}
