package apply

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/live"
	"plimsoll/internal/live/livetest"
)

// randomPlan is a list of sequential moves that all fit, some VMs more than once.
func randomPlan(r *rand.Rand, c *cluster.Cluster) (list []Change) {
	l := cluster.NewLayout(c, cluster.NewIndex(c))
	for range 200 {
		v, h := cluster.VMID(r.IntN(len(c.VMs))), cluster.HostID(r.IntN(len(c.Hosts)))
		from := l.Host(v)
		if from == cluster.Nowhere || from == h || l.Obstacle(v, h).Check != cluster.Fine {
			continue
		}
		l.Move(v, h)
		n := len(list) + 1
		list = append(list, Change{Number: n, Action: live.Move, Step: n, VM: c.VMs[v].Name, From: c.Hosts[from].Name, To: c.Hosts[h].Name})
		if n == 8 {
			break
		}
	}
	return list
}

// plainCluster has room on every host for all VMs, so that any order of moves is valid.
func plainCluster(seed uint64) *cluster.Cluster {
	c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: 4, VMs: 20, Load: .3, Placed: true})
	for h := range c.Hosts {
		c.Hosts[h].Networks = []int32{0, 1}
	}
	return c
}

// Surprises at a random point of a plan.
const (
	nothingHappens = iota
	moveFails
	moveFailsHalfWay
	killedBefore
	killedAfter
	vmDeleted
	othersMoveIt
	othersMoveAnother
	hostFails
	interrupted
	controlLost
	kindsOfSurprise
)

// For random plans with up to three moves in flight on each host and a surprise at a random
// point, the journal contains exactly the moves that happened, and the undo restores the
// initial placement except for moves by others.
func TestJournalTellsTheTruth(t *testing.T) {
	most := 0
	for seed := range uint64(40 * kindsOfSurprise) {
		synctest.Test(t, func(t *testing.T) { most = max(most, tellTheTruth(t, seed)) })
	}
	if most < 3 {
		t.Errorf("at most %d moves were under way at the same time", most)
	}
}

// chance is one random plan with a surprise.
type chance struct {
	applied
	kind, at int // index of the change
	cancel   context.CancelFunc
	plan     []Change

	mu     sync.Mutex // guards the fields below
	random *rand.Rand
	begun  int
	killed bool
	begins map[string]int  // moves begun, by VM
	struck string          // VM of the move that the surprise interrupts
	others map[string]bool // VMs that others moved
	busy   map[string]int  // moves in flight by host
	flying int             // moves in flight
	most   int             // maximum moves in flight
}

// tellTheTruth checks one plan, and returns its maximum of moves in flight.
func tellTheTruth(t *testing.T, seed uint64) (most int) {
	r := rand.New(rand.NewPCG(seed, 1))
	c := plainCluster(seed)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	k := &chance{
		applied: newApplied(t, c), kind: int(seed % kindsOfSurprise), cancel: cancel, plan: randomPlan(r, c), random: r,
		begins: map[string]int{}, others: map[string]bool{}, busy: map[string]int{},
	}
	k.at = r.IntN(len(k.plan))
	k.applier.Parallel = r.IntN(4)
	before := positions(k.lab.Now())
	seen := k.record(t)
	k.lab.OnMove(livetest.Hooks{Before: k.before, After: k.after})
	k.apply(ctx, k.plan)
	k.lab.OnMove(livetest.Hooks{})
	k.lab.Return()
	for h := range c.Hosts {
		k.lab.SetState(c.Hosts[h].Name, cluster.Connected)
	}
	synctest.Wait()
	k.compare(seed, *seen)
	if _, err := os.Stat(k.applier.Journal + ".killed"); err == nil {
		k.applier.Journal += ".killed"
	}
	k.undo()
	after := positions(k.lab.Now())
	for vm, host := range before {
		if after[vm] != host && !k.others[vm] {
			t.Fatalf("seed %d: after the undo %s is on %q, at first on %q", seed, vm, after[vm], host)
		}
	}
	return k.most
}

// record collects the cluster's events of moves by our account.
func (k *chance) record(t *testing.T) *[]string {
	moves := new([]string)
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = k.lab.Connection().Source.Watch(ctx, func(s live.Step) error {
			for _, e := range s.Events {
				if e.Kind == live.VMMoved && e.By == "plimsoll@memory" {
					*moves = append(*moves, fmt.Sprint(e.VM, " to ", e.Host))
				}
			}
			return nil
		})
	}()
	t.Cleanup(func() { cancel(); <-over })
	synctest.Wait()
	return moves
}

// compare checks that the journal contains exactly the moves seen. If its end is missing, it
// is settled first.
func (k *chance) compare(seed uint64, seen []string) {
	k.Helper()
	name := k.applier.Journal
	if _, err := os.Stat(name + ".killed"); err == nil {
		name += ".killed"
		j, err := ReadJournal(name)
		if err != nil {
			k.Fatal(err)
		}
		if found, err := k.applier.Settle(k.Context(), j); err != nil || found == "" {
			k.Fatalf("seed %d: settle: %q, %v", seed, found, err)
		}
	}
	j, err := ReadJournal(name)
	if err != nil {
		k.Fatal(err)
	}
	var told []string
	for _, o := range j.Begun {
		if o.What == Unknown && k.kind == controlLost { // control was lost, so it could not be read back
			return
		}
		if o.What == Made {
			told = append(told, fmt.Sprint(o.VM, " to ", o.To))
		}
	}
	slices.Sort(told) // overlapping moves end in any order
	slices.Sort(seen)
	if fmt.Sprint(told) != fmt.Sprint(seen) {
		k.Fatalf("seed %d: the journal tells %q, the cluster %q", seed, told, seen)
	}
}

// before runs during a migration, for a random time.
func (k *chance) before(ctx context.Context, vm, to string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.killed {
		return errBoom // a killed program sends no requests
	}
	k.begun++
	k.begins[vm]++
	strikes := k.begun-1 == k.at
	if strikes {
		k.struck = vm
	}
	most := max(1, k.applier.Parallel)
	for _, h := range []string{k.from(vm), to} {
		if k.busy[h]++; k.busy[h] > most {
			k.Errorf("%d moves of %s at the same time, at most %d are allowed", k.busy[h], h, most)
		}
		defer func() { k.busy[h]-- }()
	}
	if strikes {
		if err := k.strike(ctx, vm, to); err != nil {
			return err
		}
	}
	k.flying++
	k.most = max(k.most, k.flying)
	defer func() { k.flying-- }()
	length := time.Duration(k.random.IntN(5)) * time.Second
	k.mu.Unlock()
	defer k.mu.Lock()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(length):
		return nil
	}
}

// from is the source of the VM's latest move in the plan.
func (k *chance) from(vm string) string {
	n := 0
	for _, c := range k.plan {
		if c.VM == vm {
			if n++; n == k.begins[vm] {
				return c.From
			}
		}
	}
	return ""
}

// strike causes the surprise during a migration. The lock is held.
func (k *chance) strike(ctx context.Context, vm, to string) error {
	switch k.kind {
	case moveFails:
		return errBoom
	case killedBefore:
		k.kill()
		return errBoom
	case vmDeleted:
		k.lab.Delete(vm)
		k.others[vm] = true
	case othersMoveIt, othersMoveAnother:
		k.interfere(vm)
	case hostFails:
		k.lab.SetState(to, cluster.Failed)
	case interrupted:
		k.cancel()
		<-ctx.Done()
	case controlLost:
		k.lab.Lose()
	}
	return nil
}

func (k *chance) after(vm, _ string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	strikes := k.struck == vm && k.begins[vm] == 1
	if strikes && k.kind == killedAfter {
		k.kill()
		return errBoom
	}
	if strikes && k.kind == moveFailsHalfWay {
		return errBoom
	}
	return nil
}

// interfere moves the VM of a later change, or a VM without changes, as another balancer.
func (k *chance) interfere(moving string) {
	planned := map[string]bool{moving: true}
	vm := ""
	for _, c := range k.plan {
		if planned[c.VM] = true; k.begins[c.VM] == 0 && c.VM != moving {
			vm = c.VM
		}
	}
	c := k.lab.Now()
	for v := range c.VMs {
		if k.kind == othersMoveAnother && !planned[c.VMs[v].Name] && c.VMs[v].Host != cluster.Nowhere {
			vm = c.VMs[v].Name
		}
	}
	if vm == "" {
		return
	}
	k.others[vm] = true
	for h := range c.Hosts {
		if c.Hosts[h].Name != k.lab.Host(vm) {
			_ = k.lab.MoveBy("DRS", vm, c.Hosts[h].Name)
			return
		}
	}
}

// kill copies the journal as kill -9 would leave it. Moves in flight continue. The lock is
// held.
func (k *chance) kill() {
	k.killed = true
	text, err := os.ReadFile(k.applier.Journal)
	if err == nil {
		err = os.WriteFile(filepath.Clean(k.applier.Journal+".killed"), append(text, `{"kind":"out`...), 0o600)
	}
	if err != nil {
		k.Error(err)
	}
}
