package apply

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/topology"
	"plimsoll/internal/live"
	"plimsoll/internal/live/livetest"
)

// Surprises at a random change of topologies.
const (
	allIsWell = iota
	refused
	failedHalfWay
	deadBefore
	deadAfter
	deleted
	othersChange
	othersStart
	cancelled
	lostControl
	kindsOfTrouble
)

// reshaping is random changes of topologies of VMs that are off, with a surprise at one of
// them.
type reshaping struct {
	applied
	kind, at int
	cancel   context.CancelFunc
	plan     []Change
	begun    int
	dead     bool
	others   map[string]bool // VMs changed by others
	made     map[string]bool // VMs changed by us
}

// The journal contains the changed topologies, and the undo restores the former ones, except
// for VMs that others deleted, changed or started.
func TestTopologiesChangeAndComeBack(t *testing.T) {
	for seed := range uint64(20 * kindsOfTrouble) {
		synctest.Test(t, func(t *testing.T) { reshapeOnce(t, seed) })
	}
}

func reshapeOnce(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 9))
	c := plainCluster(seed)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	k := &reshaping{applied: newApplied(t, c), kind: int(seed % kindsOfTrouble), cancel: cancel, others: map[string]bool{}, made: map[string]bool{}}
	former := map[string]string{}
	for _, v := range random.Perm(len(c.VMs))[:6] {
		vm := c.VMs[v].Name
		k.lab.Power(vm, "")
		former[vm] = k.lab.Setting(vm)
		to := topology.Setting{VCPUs: c.VMs[v].VCPUs, CoresPerNode: 1 + random.IntN(4), Advanced: map[string]string{"numa.autosize.once": "FALSE"}}
		k.plan = append(k.plan, Change{Number: len(k.plan) + 1, Action: live.Reshape, VM: vm, From: former[vm], To: to.String()})
	}
	k.at = random.IntN(len(k.plan))
	k.lab.OnMove(livetest.Hooks{Before: k.before, After: k.after})
	k.apply(ctx, k.plan)
	k.lab.OnMove(livetest.Hooks{})
	k.lab.Return()
	synctest.Wait()
	k.compare(seed)
	r := k.undo()
	for vm, was := range former {
		if is := k.lab.Setting(vm); is != was && !k.others[vm] {
			t.Fatalf("seed %d (trouble %d): after the undo %s has %q, at first %q; %+v", seed, k.kind, vm, is, was, r)
		}
	}
	for _, left := range r.Left {
		if vm, _, _ := strings.Cut(left, " "); !k.others[vm] {
			t.Errorf("seed %d (trouble %d): left alone: %s", seed, k.kind, left)
		}
	}
}

func (k *reshaping) struck() string { return k.plan[k.at].VM }

func (k *reshaping) before(ctx context.Context, vm, _ string) error {
	if k.dead {
		return errBoom // a killed program sends no requests
	}
	if k.begun++; k.begun-1 != k.at {
		return nil
	}
	switch k.kind {
	case refused:
		return errBoom
	case deadBefore:
		k.die()
		return errBoom
	case deleted:
		k.lab.Delete(vm)
		k.others[vm] = true
	case othersChange, othersStart:
		k.interfere()
	case cancelled:
		k.cancel()
		<-ctx.Done()
	case lostControl:
		k.lab.Lose()
	}
	return nil
}

// interfere changes or starts the last VM of the plan, as an operator. It may be the next one
// or the one in progress.
func (k *reshaping) interfere() {
	last := k.plan[len(k.plan)-1]
	k.others[last.VM] = true
	if k.kind == othersStart {
		k.lab.Power(last.VM, k.lab.Now().Hosts[0].Name)
		return
	}
	now, err := topology.ParseSetting(last.From)
	if err != nil {
		k.Fatal(err)
	}
	now.Advanced = map[string]string{"numa.vcpu.preferHT": "TRUE"}
	k.lab.ShapeBy(last.VM, now)
}

func (k *reshaping) after(vm, _ string) error {
	k.made[vm] = true
	if k.begun-1 != k.at {
		return nil
	}
	if k.kind == deadAfter {
		k.die()
		return errBoom
	}
	if k.kind == failedHalfWay {
		return errBoom
	}
	return nil
}

// die copies the journal as kill -9 would leave it.
func (k *reshaping) die() {
	k.dead = true
	text, err := os.ReadFile(k.applier.Journal)
	if err == nil {
		err = os.WriteFile(k.applier.Journal+".killed", append(text, `{"kind":"out`...), 0o600)
	}
	if err != nil {
		k.Error(err)
	}
}

// compare checks that the journal contains exactly the changes made. If its end is missing, it
// is settled first.
func (k *reshaping) compare(seed uint64) {
	k.Helper()
	if k.dead {
		k.applier.Journal += ".killed"
		j, err := ReadJournal(k.applier.Journal)
		if err != nil {
			k.Fatal(err)
		}
		if found, err := k.applier.Settle(k.Context(), j); err != nil || !strings.Contains(found, k.struck()) {
			k.Fatalf("seed %d: settle: %q, %v", seed, found, err)
		}
	}
	j, err := ReadJournal(k.applier.Journal)
	if err != nil {
		k.Fatal(err)
	}
	told := map[string]bool{}
	for _, o := range j.Begun {
		if o.What == Unknown && k.kind == lostControl { // control was lost, so it could not be read back
			return
		}
		if o.What == Made {
			told[o.VM] = true
		}
	}
	if fmt.Sprint(told) != fmt.Sprint(k.made) {
		k.Fatalf("seed %d (trouble %d): the journal tells %v, the cluster %v", seed, k.kind, told, k.made)
	}
}

// A plan that the platform or the account cannot apply is refused.
func TestReshapingThatIsRefused(t *testing.T) {
	c := plainCluster(1)
	change := []Change{{Number: 1, Action: live.Reshape, VM: c.VMs[0].Name, From: "vcpus=2 cores-per-socket=1 cores-per-node=auto", To: "vcpus=2 cores-per-socket=2 cores-per-node=auto"}}
	a := newApplied(t, c)
	a.lab.Deny(live.Reshape, "VirtualMachine.Config.CPUCount on VMs")
	if _, err := a.applier.Apply(t.Context(), Plan{Seen: c, Changes: change}); err == nil || !strings.Contains(err.Error(), "lacks privileges to reshape: VirtualMachine.Config.CPUCount on VMs; nothing was changed") {
		t.Errorf("without the privilege: %v", err)
	}
	a.applier.Connection.Shaper = nil
	if _, err := a.applier.Apply(t.Context(), Plan{Seen: c, Changes: change}); err == nil || !strings.Contains(err.Error(), "cannot change virtual topologies") {
		t.Errorf("on a platform without: %v", err)
	}
}

// A running VM is never changed, and the reason is reported.
func TestAVMThatRunsKeepsItsTopology(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := plainCluster(1)
		a := newApplied(t, c)
		v := 0
		for c.VMs[v].Host == cluster.Nowhere {
			v++
		}
		vm := c.VMs[v].Name
		was := a.lab.Setting(vm)
		r := a.apply(t.Context(), []Change{{Number: 1, Action: live.Reshape, VM: vm, From: was, To: "vcpus=2 cores-per-socket=2 cores-per-node=auto"}})
		if !strings.Contains(r.Stopped, vm+" cannot be changed: it runs") || a.lab.Setting(vm) != was {
			t.Errorf("stopped: %q; %s has %q", r.Stopped, vm, a.lab.Setting(vm))
		}
	})
}

// Settings by others are kept, before a change and by an undo.
func TestTopologiesThatSomebodyElseSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := plainCluster(1)
		a := newApplied(t, c)
		vm := c.VMs[0].Name
		a.lab.Power(vm, "")
		was := a.lab.Setting(vm)
		to, other := topology.Setting{VCPUs: c.VMs[0].VCPUs, CoresPerNode: 2}, topology.Setting{VCPUs: c.VMs[0].VCPUs, CoresPerNode: 3}
		a.apply(t.Context(), []Change{{Number: 1, Action: live.Reshape, VM: vm, From: was, To: to.String()}})
		a.lab.ShapeBy(vm, other)
		if r := a.undo(); len(r.Left) != 1 || !strings.Contains(r.Left[0], "somebody changed it since") || a.lab.Setting(vm) != other.String() {
			t.Errorf("undo: %+v; it has %q", r, a.lab.Setting(vm))
		}
		a.applier.Journal += ".again"
		r := a.apply(t.Context(), []Change{{Number: 1, Action: live.Reshape, VM: vm, From: was, To: to.String()}})
		if !strings.Contains(r.Stopped, "somebody changed it") || r.Changes[0].What != NotBegun {
			t.Errorf("apply: %+v", r)
		}
	})
}

// A VM whose topology became fixed keeps it, before a change and before an undo.
func TestTopologiesThatBecameFixed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := plainCluster(1)
		a := newApplied(t, c)
		vm, was := c.VMs[0].Name, a.lab.Setting(c.VMs[0].Name)
		a.lab.Power(vm, "")
		change := []Change{{Number: 1, Action: live.Reshape, VM: vm, From: was, To: topology.Setting{VCPUs: c.VMs[0].VCPUs, CoresPerNode: 2}.String()}}
		a.apply(t.Context(), change)
		a.lab.Fix(vm, "its vCPUs are pinned")
		if r := a.undo(); len(r.Left) != 1 || r.Left[0] != vm+" is not changed back: its vCPUs are pinned" || a.lab.Setting(vm) != change[0].To {
			t.Errorf("undo: %+v; it has %q", r, a.lab.Setting(vm))
		}
		a.applier.Journal += ".again"
		change[0].From, change[0].To = change[0].To, was
		if r := a.apply(t.Context(), change); r.Stopped != vm+" is not changed: its vCPUs are pinned" {
			t.Errorf("apply: %+v", r)
		}
	})
}

// A change may end after the program that began it was killed.
func TestSettleWaitsForAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := plainCluster(1)
		a := newApplied(t, c)
		vm := c.VMs[0].Name
		a.lab.Power(vm, "")
		to := topology.Setting{VCPUs: c.VMs[0].VCPUs, CoresPerNode: 2}
		copied := make(chan struct{})
		a.lab.OnMove(livetest.Hooks{Before: func(context.Context, string, string) error {
			text, err := os.ReadFile(a.applier.Journal)
			if err == nil {
				err = os.WriteFile(a.applier.Journal+".killed", text, 0o600)
			}
			close(copied)
			<-time.After(time.Minute)
			return err
		}})
		plan := Plan{Seen: a.lab.Now(), Changes: []Change{{Number: 1, Action: live.Reshape, VM: vm, From: a.lab.Setting(vm), To: to.String()}}}
		go func() {
			if _, err := a.applier.Apply(t.Context(), plan); err != nil {
				t.Error(err)
			}
		}()
		<-copied
		j, err := ReadJournal(a.applier.Journal + ".killed")
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if found, err := a.applier.Settle(t.Context(), j); err != nil || !strings.Contains(found, "was made") || time.Since(begin) > 70*time.Second {
			t.Errorf("after %v: %q, %v", time.Since(begin), found, err)
		}
		synctest.Wait()
	})
}
