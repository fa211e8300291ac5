package apply

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/live"
	"plimsoll/internal/live/livetest"
)

// spread moves three VMs of the lopsided cluster off its first host.
func spread() []Change {
	return []Change{
		{Number: 1, Action: live.Move, Step: 1, VM: "a-1", From: "esx-1", To: "esx-2"},
		{Number: 2, Action: live.Move, Step: 2, VM: "a-2", From: "esx-1", To: "esx-3"},
		{Number: 3, Action: live.Move, Step: 3, VM: "a-3", From: "esx-1", To: "esx-2"},
	}
}

// applied is a plan applied to a cluster in memory.
type applied struct {
	*testing.T
	lab     *livetest.Cluster
	applier Applier
}

func newApplied(t *testing.T, c *cluster.Cluster) applied {
	l := livetest.New(c)
	return applied{t, l, Applier{Connection: l.Connection(), Address: "memory://lab/", Journal: filepath.Join(folder(t), "plan.jsonl")}}
}

// folder is a folder in memory if possible: thousands of entries are synced.
func folder(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "plimsoll-apply-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (a applied) apply(ctx context.Context, changes []Change) *Result {
	a.Helper()
	r, err := a.applier.Apply(ctx, Plan{Seen: a.lab.Now(), Changes: changes})
	if err != nil {
		a.Fatal(err)
	}
	return r
}

// undo undoes the journal and writes a journal of its own.
func (a applied) undo() *Result {
	a.Helper()
	j, err := ReadJournal(a.applier.Journal)
	if err != nil {
		a.Fatal(err)
	}
	a.applier.Journal += ".undo"
	r, err := a.applier.Undo(a.Context(), j)
	if err != nil {
		a.Fatal(err)
	}
	return r
}

// at checks the hosts of VMs, such as "a-1=esx-2 a-2=esx-1".
func (a applied) at(want string) {
	a.Helper()
	for pair := range strings.FieldsSeq(want) {
		vm, host, _ := strings.Cut(pair, "=")
		if got := a.lab.Host(vm); got != host {
			a.Errorf("%s is on %q, want %q", vm, got, host)
		}
	}
}

// fates checks the outcome of each change.
func (a applied) fates(r *Result, want ...OutcomeKind) {
	a.Helper()
	var got []OutcomeKind
	for _, o := range r.Changes {
		got = append(got, o.What)
	}
	if len(got) != len(want) {
		a.Fatalf("outcomes %q, want %q", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			a.Fatalf("outcomes %q, want %q", got, want)
		}
	}
}

func TestApplyAndUndo(t *testing.T) {
	a := newApplied(t, clustertest.Lopsided())
	var told []Progress
	a.applier.Progress = func(p Progress) { told = append(told, p) }
	r := a.apply(t.Context(), spread())
	a.fates(r, Made, Made, Made)
	a.at("a-1=esx-2 a-2=esx-3 a-3=esx-2 b-1=esx-1")
	if len(told) != 6 || told[0].Of != 3 || told[0].Ended != nil || told[5].Ended == nil || told[5].Left != 0 {
		t.Errorf("progress %+v", told)
	}
	back := a.undo()
	a.fates(back, Made, Made, Made)
	a.at("a-1=esx-1 a-2=esx-1 a-3=esx-1")
	a.applier.Journal = back.Journal
	if again := a.undo(); len(again.Changes) != 3 { // the undo of the undo
		t.Errorf("the undo is undone by %d changes", len(again.Changes))
	}
	a.at("a-1=esx-2 a-2=esx-3 a-3=esx-2")
}

func TestUndoTwice(t *testing.T) {
	a := newApplied(t, clustertest.Lopsided())
	a.apply(t.Context(), spread())
	journal := a.applier.Journal
	a.undo()
	a.applier.Journal = journal
	if r := a.undo(); len(r.Changes) != 0 || len(r.Left) != 0 {
		t.Errorf("a second undo makes %+v and leaves %q", r.Changes, r.Left)
	}
}

// surprise is an event before or after the second move, and the expected result.
type surprise struct {
	before func(a applied) error // during the migration of a-2
	after  func(a applied) error // after the migration of a-2
	early  func(a applied)       // after the first move, before the second
	want   []OutcomeKind
	says   string // part of the reason for the stop
	at     string // afterwards
	undone string // after an undo, or empty to skip it
	left   string // part of the undo's list of skipped changes
}

var errBoom = errors.New("boom")

func surprises() map[string]surprise {
	return map[string]surprise{
		"the move fails": {
			before: func(applied) error { return errBoom },
			want:   []OutcomeKind{Made, NotMade, NotBegun}, says: "boom", at: "a-1=esx-2 a-2=esx-1 a-3=esx-1", undone: "a-1=esx-1",
		},
		"the move fails half-way": {
			after: func(applied) error { return errBoom },
			want:  []OutcomeKind{Made, Made, NotBegun}, says: "boom", at: "a-1=esx-2 a-2=esx-3 a-3=esx-1", undone: "a-1=esx-1 a-2=esx-1",
		},
		"the VM is deleted under us": {
			before: func(a applied) error { a.lab.Delete("a-2"); return nil },
			want:   []OutcomeKind{Made, Unknown, NotBegun}, says: "deleted", at: "a-1=esx-2 a-3=esx-1", undone: "a-1=esx-1", left: "a-2 does not run",
		},
		"a VM of the plan is gone": {
			early: func(a applied) { a.lab.Delete("a-3") },
			want:  []OutcomeKind{Made, NotBegun, NotBegun}, says: "a-3 no longer exists", at: "a-2=esx-1", undone: "a-1=esx-1",
		},
		"a VM of the plan is off": {
			early: func(a applied) { a.lab.Edit(func(c *cluster.Cluster) { c.VMs[1].Host = cluster.Nowhere }) },
			want:  []OutcomeKind{Made, NotBegun, NotBegun}, says: "a-2 no longer runs", at: "a-1=esx-2", undone: "a-1=esx-1",
		},
		"a VM of the plan is elsewhere": {
			early: func(a applied) { _ = a.lab.MoveBy("DRS", "a-2", "esx-2") },
			want:  []OutcomeKind{Made, NotBegun, NotBegun}, says: "a-2 is on esx-2, not on esx-1: moved by DRS", at: "a-2=esx-2", undone: "a-1=esx-1 a-2=esx-2",
		},
		"a moved VM is moved again by others": {
			early: func(a applied) { _ = a.lab.MoveBy("DRS", "a-1", "esx-3") },
			want:  []OutcomeKind{Made, NotBegun, NotBegun}, says: "a-1, which is not in the plan, moved from esx-2 to esx-3: moved by DRS", at: "a-1=esx-3", undone: "a-1=esx-3", left: "a-1 is on esx-3: somebody moved it",
		},
		"another balancer": {
			early: func(a applied) { _ = a.lab.MoveBy("DRS", "b-1", "esx-3") },
			want:  []OutcomeKind{Made, NotBegun, NotBegun}, says: "b-1, which is not in the plan, moved from esx-1 to esx-3", at: "a-2=esx-1", undone: "a-1=esx-1 b-1=esx-3",
		},
		"the destination fails": {
			early: func(a applied) { a.lab.SetState("esx-3", cluster.Failed) },
			want:  []OutcomeKind{Made, NotBegun, NotBegun}, says: "the host esx-3 has failed", at: "a-2=esx-1", undone: "a-1=esx-1",
		},
		"a rule is new": {
			early: func(a applied) { a.lab.Edit(apart("a-1", "a-3")) },
			want:  []OutcomeKind{Made, NotBegun, NotBegun}, says: "the rule apart is new", at: "a-2=esx-1", undone: "a-1=esx-2", // the rule forbids it
		},
		"a reservation grows": {
			early: func(a applied) {
				a.lab.Edit(func(c *cluster.Cluster) { c.VMs[1].CPU.Reservation = 1 << 40 })
			},
			want: []OutcomeKind{Made, NotBegun, NotBegun}, says: "violate a hard constraint: host esx-3", at: "a-2=esx-1", undone: "a-1=esx-2", // esx-1 is full
		},
		"the privilege is withdrawn": {
			early: func(a applied) { a.lab.Deny(live.Move, "Resource.HotMigrate") },
			want:  []OutcomeKind{Made, NotMade, NotBegun}, says: "permission denied", at: "a-2=esx-1",
		},
		"the name is no longer unique": {
			early: func(a applied) { vm := a.lab.Now().VMs[1]; a.lab.Add(vm) },
			want:  []OutcomeKind{Made, NotBegun, NotBegun}, says: "a-2 no longer exists", at: "a-1=esx-2", undone: "a-1=esx-1",
		},
		"the control plane is lost for good": {
			before: func(a applied) error { a.lab.Lose(); return nil },
			want:   []OutcomeKind{Made, Unknown, NotBegun}, says: "no answer", at: "a-2=esx-3",
		},
		"the control plane is lost between moves": {
			early: func(a applied) { a.lab.Lose() },
			want:  []OutcomeKind{Made, NotBegun, NotBegun}, says: "did not return within 2m0s", at: "a-2=esx-1",
		},
	}
}

// apart adds a rule that keeps two VMs apart.
func apart(one, other string) func(*cluster.Cluster) {
	return func(c *cluster.Cluster) {
		r := cluster.Rule{Name: "apart", Kind: cluster.Apart, Must: true}
		for v := range c.VMs {
			if c.VMs[v].Name == one || c.VMs[v].Name == other {
				r.VMs = append(r.VMs, cluster.VMID(v))
			}
		}
		c.Rules = append(c.Rules, r)
	}
}

func TestSurprises(t *testing.T) {
	for name, s := range surprises() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newApplied(t, clustertest.Lopsided())
				a.lab.OnMove(livetest.Hooks{Before: s.hook(a), After: func(vm, _ string) error {
					if vm == "a-2" && s.after != nil {
						return s.after(a)
					}
					return nil
				}})
				a.applier.Progress = func(p Progress) {
					if p.Ended != nil && p.Change.VM == "a-1" && s.early != nil {
						s.early(a)
						synctest.Wait() // until the step was seen
					}
				}
				r := a.apply(t.Context(), spread())
				a.fates(r, s.want...)
				if !strings.Contains(r.Stopped, s.says) {
					t.Errorf("stopped because of %q, want %q", r.Stopped, s.says)
				}
				a.at(s.at)
				if s.undone == "" {
					return
				}
				a.lab.OnMove(livetest.Hooks{})
				a.applier.Progress = nil
				back := a.undo()
				a.at(s.undone)
				if left := strings.Join(back.Left, "; "); !strings.Contains(left, s.left) || s.left == "" && left != "" {
					t.Errorf("the undo leaves %q alone, want %q", left, s.left)
				}
			})
		})
	}
}

// hook calls the surprise during the second migration.
func (s surprise) hook(a applied) func(context.Context, string, string) error {
	return func(_ context.Context, vm, _ string) error {
		if vm == "a-2" && s.before != nil {
			return s.before(a)
		}
		return nil
	}
}

func TestControlPlaneReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newApplied(t, clustertest.Lopsided())
		a.applier.Progress = func(p Progress) {
			if p.Ended != nil && p.Change.Number == 1 {
				a.lab.Lose()
				synctest.Wait()
				go func() { synctest.Wait(); a.lab.Return() }()
			}
		}
		r := a.apply(t.Context(), spread())
		a.fates(r, Made, Made, Made)
		if r.Stopped != "" {
			t.Errorf("stopped: %s", r.Stopped)
		}
	})
}

func TestInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newApplied(t, clustertest.Lopsided())
		ctx, cancel := context.WithCancel(t.Context())
		a.lab.OnMove(livetest.Hooks{Before: func(ctx context.Context, vm, _ string) error {
			if vm == "a-2" {
				cancel()
				<-ctx.Done()
			}
			return nil
		}})
		r := a.apply(ctx, spread())
		a.fates(r, Made, NotMade, NotBegun)
		if r.Stopped != "interrupted" {
			t.Errorf("stopped: %s", r.Stopped)
		}
		a.at("a-1=esx-2 a-2=esx-1 a-3=esx-1")
	})
}

func TestRefusedBeforeTheFirstChange(t *testing.T) {
	lacking := func(a live.Action) func(*livetest.Cluster) {
		return func(l *livetest.Cluster) { l.Deny(a, "Some.Privilege on esx-1") }
	}
	maintain := Change{Number: 4, Action: live.Maintain, Host: "esx-1", Enter: true}
	for name, c := range map[string]struct {
		with    func(*livetest.Cluster)
		changes []Change
		want    string
	}{
		"no privilege to move":     {lacking(live.Move), spread(), "lacks privileges to move: Some.Privilege on esx-1"},
		"no privilege to maintain": {lacking(live.Maintain), append(spread(), maintain), "lacks privileges to maintain"},
		"a failed host":            {func(l *livetest.Cluster) { l.SetState("esx-1", cluster.Failed) }, spread(), "high availability"},
		"a VM that is off":         {func(*livetest.Cluster) {}, []Change{{Number: 1, Action: live.Move, VM: "a-1", To: "esx-2"}}, "high availability"},
	} {
		a := newApplied(t, clustertest.Lopsided())
		c.with(a.lab)
		_, err := a.applier.Apply(t.Context(), Plan{Seen: a.lab.Now(), Changes: c.changes})
		if refused := (*Refused)(nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want a refusal with %q", name, err, c.want)
		}
		if _, err := os.Stat(a.applier.Journal); err == nil {
			t.Errorf("%s: a journal was written", name)
		}
	}
}

func TestJournalIsNeverOverwritten(t *testing.T) {
	a := newApplied(t, clustertest.Lopsided())
	a.apply(t.Context(), spread()[:1])
	_, err := a.applier.Apply(t.Context(), Plan{Seen: a.lab.Now(), Changes: spread()[1:2]})
	if refused := (*Refused)(nil); !errors.As(err, &refused) {
		t.Errorf("a second plan with the same journal gives %v", err)
	}
	a.at("a-2=esx-1")
}

// Evacuation ends with maintenance, and its undo begins with the exit from it.
func TestMaintenance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newApplied(t, clustertest.Sound())
		out := []Change{
			{Number: 1, Action: live.Move, Step: 1, VM: "a-1", From: "esx-1", To: "esx-2"},
			{Number: 2, Action: live.Move, Step: 2, VM: "b-1", From: "esx-1", To: "esx-3"},
			{Number: 3, Action: live.Maintain, Host: "esx-1", Enter: true},
		}
		a.fates(a.apply(t.Context(), out), Made, Made, Made)
		if got := a.lab.Now().Hosts[0].State; got != cluster.Maintenance {
			t.Errorf("esx-1 is %s", got)
		}
		back := a.undo()
		a.fates(back, Made, Made, Made)
		a.at("a-1=esx-1 b-1=esx-1")
		if got := a.lab.Now().Hosts[0].State; got != cluster.Connected {
			t.Errorf("after the undo esx-1 is %s", got)
		}
		a.applier.Journal += ".again"
		a.applier.Progress = func(p Progress) {
			if p.Ended != nil && p.Change.Number == 2 {
				_ = a.lab.MoveBy("DRS", "b-2", "esx-1")
				synctest.Wait()
			}
		}
		r := a.apply(t.Context(), out)
		a.fates(r, Made, Made, NotBegun)
		if !strings.Contains(r.Stopped, "b-2 runs on esx-1, which must be empty to enter maintenance: moved by DRS") {
			t.Errorf("stopped: %s", r.Stopped)
		}
	})
}

func TestVMsThatMoveTogether(t *testing.T) {
	c := clustertest.Lopsided()
	c.Rules = []cluster.Rule{{Name: "pair", Kind: cluster.Together, Must: true, VMs: []cluster.VMID{0, 1}}}
	a := newApplied(t, c)
	pair := []Change{
		{Number: 1, Action: live.Move, Step: 1, VM: "a-1", From: "esx-1", To: "esx-2"},
		{Number: 2, Action: live.Move, Step: 1, VM: "a-2", From: "esx-1", To: "esx-2"},
	}
	a.fates(a.apply(t.Context(), pair), Made, Made)
	a.fates(a.undo(), Made, Made)
	apartSteps := []Change{pair[0], pair[1]}
	apartSteps[1].Step = 2
	a.applier.Journal += ".apart"
	r := a.apply(t.Context(), apartSteps)
	a.fates(r, NotBegun, NotBegun)
	if !strings.Contains(r.Stopped, "rule pair") {
		t.Errorf("stopped: %s", r.Stopped)
	}
}

// After a watch that misses changes, the whole cluster is read again.
func TestAWatchThatMissesChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newApplied(t, clustertest.Sound())
		a.applier.Progress = func(p Progress) {
			if p.Ended == nil {
				synctest.Wait() // until the watch has begun
				a.lab.Mute(true)
			} else {
				a.lab.Mute(false)
			}
		}
		r := a.apply(t.Context(), []Change{
			{Number: 1, Action: live.Move, Step: 1, VM: "a-1", From: "esx-1", To: "esx-2"},
			{Number: 2, Action: live.Move, Step: 2, VM: "b-1", From: "esx-1", To: "esx-3"},
			{Number: 3, Action: live.Maintain, Host: "esx-1", Enter: true},
		})
		a.fates(r, Made, Made, Made)
		a.fates(a.undo(), Made, Made, Made)
	})
}

// An undo does not move a VM that the plan itself moved away and back.
func TestAVMThatReturned(t *testing.T) {
	a := newApplied(t, clustertest.Lopsided())
	a.fates(a.apply(t.Context(), []Change{
		{Number: 1, Action: live.Move, Step: 1, VM: "a-1", From: "esx-1", To: "esx-2"},
		{Number: 2, Action: live.Move, Step: 2, VM: "a-1", From: "esx-2", To: "esx-1"},
	}), Made, Made)
	if back := a.undo(); len(back.Changes) != 0 || len(back.Left) != 0 {
		t.Errorf("the undo makes %+v and leaves %q", back.Changes, back.Left)
	}
}

// A placement starts VMs, after the moves that make room for them; its undo shuts them down.
func TestPowerAndItsUndo(t *testing.T) {
	c := clustertest.Lopsided()
	c.VMs[1].Host = cluster.Nowhere
	a := newApplied(t, c)
	plan := []Change{
		{Number: 1, Action: live.Move, Step: 1, VM: "a-1", From: "esx-1", To: "esx-2"},
		{Number: 2, Action: live.Power, Step: 1, VM: "a-2", To: "esx-1"},
	}
	a.fates(a.apply(t.Context(), plan), Made, Made)
	a.at("a-1=esx-2 a-2=esx-1")
	journal := a.applier.Journal
	a.fates(a.undo(), Made, Made)
	a.at("a-1=esx-1")
	if got := a.lab.Host("a-2"); got != "" {
		t.Errorf("after the undo, a-2 runs on %s", got)
	}
	a.applier.Journal = journal
	if again := a.undo(); len(again.Changes)+len(again.Left) > 0 {
		t.Errorf("a second undo makes %+v and leaves %q", again.Changes, again.Left)
	}
	if err := a.applier.Connection.Hand.Power(t.Context(), "a-2", "esx-3"); err != nil {
		t.Fatal(err)
	}
	a.applier.Journal = journal + ".again"
	r := a.apply(t.Context(), plan)
	a.fates(r, NotBegun, NotBegun)
	if !strings.Contains(r.Stopped, "a-2 is on esx-3, but the plan starts it") {
		t.Errorf("stopped: %s", r.Stopped)
	}
	a.applier.Journal = journal
	if left := a.undo().Left; len(left) != 1 || !strings.Contains(left[0], "a-2 is on esx-3: somebody moved it") {
		t.Errorf("the undo leaves %q alone", left)
	}
}

func TestManyMissingPrivilegesAreCounted(t *testing.T) {
	list := strings.Split("a b c d e f g", " ")
	if few, many := first(list[:5]), first(list); few != "a, b, c, d, e" || many != "a, b, c, d, e and 2 more" {
		t.Errorf("%q, %q", few, many)
	}
}
