package apply

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/live"
	"plimsoll/internal/live/livetest"
)

// slowly sets the duration of each VM's migration in seconds.
func slowly(a applied, seconds map[string]int) {
	a.lab.OnMove(livetest.Hooks{Before: func(ctx context.Context, vm, _ string) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(seconds[vm]) * time.Second):
			return nil
		}
	}})
}

// Moves between different hosts overlap, others wait for their turn.
func TestMovesOfDifferentHostsOverlap(t *testing.T) {
	plan := []Change{
		{Number: 1, Action: live.Move, Step: 1, VM: "vm-0", From: "host-0", To: "host-1"},
		{Number: 2, Action: live.Move, Step: 2, VM: "vm-1", From: "host-0", To: "host-2"},
		{Number: 3, Action: live.Move, Step: 3, VM: "vm-2", From: "host-2", To: "host-3"},
		{Number: 4, Action: live.Move, Step: 4, VM: "vm-3", From: "host-1", To: "host-0"}, // once vm-0 and vm-1 have left
	}
	for parallel, want := range map[int]float64{0: 30, 1: 30, 2: 20, 8: 20} {
		synctest.Test(t, func(t *testing.T) {
			c := plainCluster(1)
			for i, h := range []cluster.HostID{0, 0, 2, 1} {
				c.VMs[i].Host = h
			}
			a := newApplied(t, c)
			a.applier.Parallel = parallel
			slowly(a, map[string]int{"vm-0": 10, "vm-1": 10, "vm-2": 10, "vm-3": 10})
			began := time.Now()
			r := a.apply(t.Context(), plan)
			a.fates(r, Made, Made, Made, Made)
			if got := time.Since(began).Seconds(); got != want {
				t.Errorf("with %d moves per host the plan took %v s, want %v", parallel, got, want)
			}
		})
	}
}

// A step of two VMs that stay together is incomplete while its second move waits for a host.
// Moves of other hosts do not wait for it.
func TestAnIncompleteStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := plainCluster(1)
		for i, h := range []cluster.HostID{0, 0, 2} {
			c.VMs[i].Host = h
		}
		c.Rules = []cluster.Rule{{Name: "pair", Kind: cluster.Together, Must: true, VMs: []cluster.VMID{0, 1}}}
		a := newApplied(t, c)
		slowly(a, map[string]int{"vm-0": 10, "vm-1": 10, "vm-2": 15})
		began := time.Now()
		a.fates(a.apply(t.Context(), []Change{
			{Number: 1, Action: live.Move, Step: 1, VM: "vm-0", From: "host-0", To: "host-1"},
			{Number: 2, Action: live.Move, Step: 1, VM: "vm-1", From: "host-0", To: "host-1"},
			{Number: 3, Action: live.Move, Step: 2, VM: "vm-2", From: "host-2", To: "host-3"},
		}), Made, Made, Made)
		if got := time.Since(began); got != 20*time.Second {
			t.Errorf("the plan took %s, want 20 s", got)
		}
	})
}

// The platform's limit holds whatever --in-flight is, and so does the limit of a slow link.
func TestLimitsOfHosts(t *testing.T) {
	c := plainCluster(1)
	c.Hosts[1].NIC = 1_000_000_000
	for most, want := range map[int][2]int{0: {8, 4}, 2: {2, 2}} {
		s := newOrder(Applier{Parallel: 100, Connection: live.Connection{MostMoves: most}}, Plan{Seen: c})
		if got := [2]int{s.most["host-0"], s.most["host-1"]}; got != want {
			t.Errorf("with %d for the platform, hosts take part in %d moves, want %d", most, got, want)
		}
	}
}

// A surprise does not interrupt moves in flight: they are awaited and journaled.
func TestASurpriseWaitsForMovesUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newApplied(t, clustertest.Lopsided())
		a.applier.Parallel = 2
		a.lab.OnMove(livetest.Hooks{Before: func(ctx context.Context, vm, _ string) error {
			if vm == "a-1" {
				<-time.After(time.Second)
				return errBoom
			}
			<-time.After(time.Minute)
			return ctx.Err()
		}})
		r := a.apply(t.Context(), spread())
		a.fates(r, NotMade, Made, NotBegun)
		if !strings.Contains(r.Stopped, "boom") {
			t.Errorf("stopped: %s", r.Stopped)
		}
		j, err := ReadJournal(a.applier.Journal)
		if err != nil || len(j.Begun) != 2 || j.Begun[0].What != NotMade || j.Begun[1].What != Made || !j.Ended {
			t.Errorf("journal %+v, %v", j, err)
		}
		a.lab.OnMove(livetest.Hooks{})
		a.fates(a.undo(), Made)
		a.at("a-1=esx-1 a-2=esx-1 a-3=esx-1")
	})
}

// guard checks that overlapping moves violate no constraint: a migrating VM counts on both
// hosts.
type guard struct {
	mu      sync.Mutex
	t       *testing.T
	lab     *livetest.Cluster
	coming  map[string]string
	allowed map[string]int
	random  *rand.Rand
}

func (g *guard) before(_ context.Context, vm, to string) error {
	g.mu.Lock()
	g.coming[vm] = to
	c := g.lab.Now()
	doubled := *c
	doubled.VMs = append([]cluster.VM(nil), c.VMs...)
	doubled.Rules = nil // only anti-affinity rules count a VM twice
	for _, v := range c.VMs {
		if at, comes := g.coming[v.Name]; comes {
			for h := range c.Hosts {
				if c.Hosts[h].Name == at {
					v.Host = cluster.HostID(h)
				}
			}
			doubled.VMs = append(doubled.VMs, v)
		}
	}
	for key, n := range violated(&doubled, nil) {
		if n > g.allowed[key] {
			g.t.Errorf("while %s is on its way to %s, %s is violated", vm, to, key)
		}
	}
	for r := range c.Rules {
		if c.Rules[r].Kind == cluster.Apart && c.Rules[r].Must {
			g.meets(c, &c.Rules[r])
		}
	}
	length := time.Duration(1+g.random.IntN(20)) * time.Second
	g.mu.Unlock()
	<-time.After(length)
	return nil
}

// meets checks that no two VMs of a rule share a host, whether as source or destination.
func (g *guard) meets(c *cluster.Cluster, r *cluster.Rule) {
	on := map[string]string{}
	for _, v := range r.VMs {
		vm := c.VMs[v].Name
		places := map[string]bool{g.coming[vm]: true, g.lab.Host(vm): true}
		for h := range places {
			if other, taken := on[h]; h != "" && taken && g.allowed["rule "+r.Name] == 0 {
				g.t.Errorf("%s and %s, which %s keeps apart, meet on %s", vm, other, r.Name, h)
			}
			on[h] = vm
		}
	}
}

func (g *guard) after(vm, _ string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.coming, vm)
	return nil
}

// The engine's plans for crowded clusters with rules, applied with many moves in flight,
// violate no constraint that sequential moves do not, and reach the planned placement. A
// parallel undo restores the initial placement.
func TestPlansOfTheEngineInParallel(t *testing.T) {
	moved := 0
	for seed := range uint64(60) {
		c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: 6, VMs: 60, Rules: 8, Load: .8, Placed: true})
		if seed%2 == 1 {
			c.Hosts[0].State = cluster.Maintenance // it is evacuated
		}
		x := cluster.NewIndex(c)
		p := balance.Round(cluster.NewLayout(c, x), x, advice.Options{})
		var plan []Change
		for i, m := range p.Moves {
			plan = append(plan, Change{Number: i + 1, Action: live.Move, Step: m.Number, VM: c.VMs[m.VM].Name, From: c.Hosts[m.From].Name, To: c.Hosts[m.To].Name})
		}
		moved += len(plan)
		synctest.Test(t, func(t *testing.T) {
			a := newApplied(t, c)
			a.applier.Parallel = 1 + int(seed%8)
			g := &guard{t: t, lab: a.lab, coming: map[string]string{}, allowed: violated(c, nil), random: rand.New(rand.NewPCG(seed, 9))}
			a.lab.OnMove(livetest.Hooks{Before: g.before, After: g.after})
			before := fmt.Sprint(positions(a.lab.Now()))
			r := a.apply(t.Context(), plan)
			if r.Stopped != "" {
				t.Fatalf("seed %d: %s", seed, r.Stopped)
			}
			for _, c := range plan {
				if last := lastOf(plan, c.VM); a.lab.Host(c.VM) != last {
					t.Errorf("seed %d: %s is on %s, not on %s", seed, c.VM, a.lab.Host(c.VM), last)
				}
			}
			if seed%2 == 1 {
				a.lab.SetState("host-0", cluster.Connected)
				synctest.Wait()
			}
			a.lab.OnMove(livetest.Hooks{})
			if len(plan) > 0 {
				if back := a.undo(); back.Stopped != "" {
					t.Errorf("seed %d: the undo stopped: %s", seed, back.Stopped)
				}
			}
			if after := fmt.Sprint(positions(a.lab.Now())); after != before {
				t.Errorf("seed %d: after the undo %s, before %s", seed, after, before)
			}
		})
	}
	if moved < 200 {
		t.Errorf("only %d moves were planned", moved)
	}
}

// lastOf is the destination of a VM's last move.
func lastOf(plan []Change, vm string) (to string) {
	for _, c := range plan {
		if c.VM == vm {
			to = c.To
		}
	}
	return to
}

// The duration of a plan is that of its busiest host, with its limit of moves in flight.
func TestTimeLeftBeforeAMoveHasEnded(t *testing.T) {
	plan, seconds := make([]Change, 17), make([]float64, 17)
	for i := range plan {
		plan[i], seconds[i] = Change{Action: live.Move, VM: fmt.Sprint("vm-", i), From: "host-0", To: fmt.Sprint("host-", 1+i%2)}, 3
	}
	plan[16] = Change{Action: live.Maintain, Host: "host-0", Enter: true}
	for parallel, want := range map[int]float64{1: 16*3 + 3, 2: 8*3 + 3, 8: 2*3 + 3, 100: 3 + 3} {
		if got := least(plan, seconds, map[string]int{"host-0": parallel, "host-1": parallel, "host-2": parallel}); got != want {
			t.Errorf("%d at a time: %v s, want %v", parallel, got, want)
		}
	}
}
