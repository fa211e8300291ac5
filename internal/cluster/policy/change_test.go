package policy

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// everything is all that a checker says.
type everything struct {
	Report *Report
	VMs    []VMStatus
}

func all(t *testing.T, c *Checker) everything {
	t.Helper()
	e := everything{Report: c.Report()}
	for _, name := range c.VMNames() {
		v, found := c.VM(name)
		if !found {
			t.Fatalf("%s has a name and no status", name)
		}
		e.VMs = append(e.VMs, v)
	}
	return e
}

func checked(t *testing.T, inv *Inventory, workers int) *Checker {
	t.Helper()
	c, err := New(inv, workers)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func same(t *testing.T, what string, got, want everything) {
	t.Helper()
	if reflect.DeepEqual(got, want) {
		return
	}
	for i := range min(len(got.VMs), len(want.VMs)) {
		if !reflect.DeepEqual(got.VMs[i], want.VMs[i]) {
			t.Fatalf("%s: %+v\nwant %+v", what, got.VMs[i], want.VMs[i])
		}
	}
	t.Fatalf("%s: reports differ:\n%+v\nwant\n%+v", what, got.Report, want.Report)
}

// mutation is one random change to an inventory. It says how many objects depend on what
// changed, at most.
func mutation(r *rand.Rand, inv *Inventory) (apply func(c *Checker) (int, error), dependents int) {
	count := func(depends func(o *Object) bool) (n int) {
		for i := range inv.VMs {
			for _, o := range append([]Object{inv.VMs[i].Home}, inv.VMs[i].Disks...) {
				if depends(&o) {
					n++
				}
			}
		}
		return n
	}
	i := 0
	if len(inv.VMs) > 0 {
		i = r.IntN(len(inv.VMs))
	}
	switch k := r.IntN(6); {
	case k == 0:
		p := &inv.Policies[r.IntN(len(inv.Policies))]
		*p = somePolicy(r, p.Name, pick(r, p.Generation+1, p.Generation+1, p.Generation+1, r.Int64N(1<<40))) // also backwards
		now := *p
		return func(c *Checker) (int, error) { return c.SetPolicy(now) }, count(func(o *Object) bool { return o.Policy == now.Name })
	case k == 1:
		d := &inv.Datastores[r.IntN(len(inv.Datastores))]
		*d = someStore(r, d.Name, d.Generation+1)
		now := *d
		return func(c *Checker) (int, error) { return c.SetDatastore(now) }, count(func(o *Object) bool { return o.Datastore == now.Name })
	case k == 2 && len(inv.VMs) > 0:
		name := inv.VMs[i].Name
		inv.VMs = slices.Delete(inv.VMs, i, i+1)
		return func(c *Checker) (int, error) {
			if !c.RemoveVM(name) {
				return 0, fmt.Errorf("%s is not there", name)
			}
			return 0, nil
		}, 0
	case k == 3 || len(inv.VMs) == 0:
		v := someVM(r, inv, fmt.Sprintf("new-%08x", r.Uint32()), r.IntN(4))
		inv.VMs = append(inv.VMs, v)
		return func(c *Checker) (int, error) { return c.SetVM(v) }, 1 + len(v.Disks)
	case k == 4:
		v := someVM(r, inv, inv.VMs[i].Name, r.IntN(4))
		inv.VMs[i] = v
		return func(c *Checker) (int, error) { return c.SetVM(v) }, 1 + len(v.Disks)
	}
	v := inv.VMs[i]
	v.Home = someObject(r, inv, "")
	v.Disks = slices.Clone(v.Disks)
	inv.VMs[i] = v
	return func(c *Checker) (int, error) { return c.SetVM(v) }, 1 + len(v.Disks)
}

// After any change, told alone or found in a newer inventory in any order, a checker says
// what a new one says, and it has judged no more than what depends on the change.
func TestIncrementalIsFull(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 2))
		inv := made{vms: r.IntN(60), disks: 2, policies: 5, stores: 6}.inventory(seed)
		told, follows := checked(t, inv, 1), checked(t, inv, 1)
		for step := range 25 {
			what := fmt.Sprintf("seed %d, step %d", seed, step)
			apply, dependents := mutation(r, inv)
			n, err := apply(told)
			if err != nil || n > dependents {
				t.Fatalf("%s: %d objects judged, of %d that depend on the change: %v", what, n, dependents, err)
			}
			newer := inv
			if r.IntN(2) == 0 {
				newer = shuffled(inv, r)
			}
			if n, err := follows.Follow(newer); err != nil || n > dependents {
				t.Fatalf("%s: following judged %d objects, of %d that depend on the change: %v", what, n, dependents, err)
			}
			want := all(t, checked(t, inv, 1))
			same(t, what+", told", all(t, told), want)
			same(t, what+", followed", all(t, follows), want)
			told.CheckAll(1 + r.IntN(4))
			same(t, what+", checked afresh", all(t, told), want)
		}
	}
}

// Many changes at once, with policies and datastores that come and go.
func TestFollowManyChanges(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 3))
		inv := made{vms: 30, disks: 1, policies: 4, stores: 5}.inventory(seed)
		c := checked(t, inv, 1)
		for range 10 {
			mutation(r, inv)
		}
		if seed%4 == 0 {
			inv.Policies = append(inv.Policies, somePolicy(r, "one-more", 1))
			inv.Datastores = append(inv.Datastores, someStore(r, "one-more", 1))
		}
		if _, err := c.Follow(shuffled(inv, r)); err != nil {
			t.Fatal(err)
		}
		same(t, fmt.Sprint("seed ", seed), all(t, c), all(t, checked(t, inv, 1)))
	}
}

func TestNothingChanged(t *testing.T) {
	inv := made{vms: 50, disks: 2, policies: 5, stores: 6}.inventory(1)
	c := checked(t, inv, 1)
	for _, set := range []func() (int, error){
		func() (int, error) { return c.Follow(inv) },
		func() (int, error) { return c.SetPolicy(inv.Policies[2]) },
		func() (int, error) { return c.SetDatastore(inv.Datastores[2]) },
		func() (int, error) { return c.SetVM(inv.VMs[2]) },
	} {
		if n, err := set(); n != 0 || err != nil {
			t.Errorf("%d objects judged again: %v", n, err)
		}
	}
}

// A datastore that changes without a verdict turning costs no object a look.
func TestVerdictsSpareObjects(t *testing.T) {
	inv := small()
	for i := range 100 {
		inv.VMs = append(inv.VMs, VM{Name: fmt.Sprint("vm", i), Home: Object{Datastore: "bad", Policy: "two", Applied: 4}})
	}
	c := checked(t, inv, 1)
	d := Datastore{Name: "bad", Generation: 8, Capabilities: []Capability{{"store.failures", exactly(0)}}}
	if n, err := c.SetDatastore(d); n != 0 || err != nil {
		t.Errorf("still too little: %d objects judged, %v", n, err)
	}
	if v, _ := c.VM("vm7"); v.Objects[0].Reasons[0] != "store.failures must be 2, and bad offers 0" {
		t.Errorf("the reason is that of before: %q", v.Objects[0].Reasons)
	}
	d = Datastore{Name: "bad", Generation: 9, Capabilities: []Capability{{"store.failures", exactly(2)}}}
	if n, err := c.SetDatastore(d); n != 100 || err != nil {
		t.Errorf("enough now: %d objects judged, %v", n, err)
	}
	if vms, _ := c.Counts(); vms.Compliant != 100 {
		t.Errorf("%+v", vms)
	}
}

func TestWorkersAndOrderChangeNothing(t *testing.T) {
	inv := made{vms: 300, disks: 2, policies: 9, stores: 11}.inventory(5)
	want := all(t, checked(t, inv, 1))
	r := rand.New(rand.NewPCG(5, 5))
	for _, workers := range []int{-1, 0, 2, 3, 7, 64, 1000} {
		same(t, fmt.Sprint(workers, " workers"), all(t, checked(t, inv, workers)), want)
		same(t, "another order", all(t, checked(t, shuffled(inv, r), workers)), want)
	}
	for _, n := range []int{0, 1} {
		tiny := made{vms: n, disks: 0, policies: 1, stores: 1}.inventory(1)
		same(t, fmt.Sprint(n, " machines"), all(t, checked(t, tiny, 4)), all(t, checked(t, tiny, 1)))
	}
}

// The order of rules, sets and values decides nothing but the order of reasons.
func TestOrderWithinPolicies(t *testing.T) {
	inv := made{vms: 200, disks: 2, policies: 9, stores: 11}.inventory(6)
	before := checked(t, inv, 1)
	for i := range inv.Policies {
		slices.Reverse(inv.Policies[i].Sets)
		for _, s := range inv.Policies[i].Sets {
			slices.Reverse(s.Rules)
			for k := range s.Rules {
				slices.Reverse(s.Rules[k].Set)
			}
		}
	}
	for i := range inv.Datastores {
		slices.Reverse(inv.Datastores[i].Capabilities)
		slices.Reverse(inv.Datastores[i].Tags["tier"])
	}
	after := checked(t, inv, 1)
	for _, name := range before.VMNames() {
		a, _ := before.VM(name)
		b, _ := after.VM(name)
		for i := range a.Objects {
			if a.Objects[i].Status != b.Objects[i].Status {
				t.Errorf("%s: %+v, and the other way round %+v", name, a.Objects[i], b.Objects[i])
			}
		}
	}
}

// A change that is wrong is named, and nothing of it is taken over.
func TestWrongChanges(t *testing.T) {
	inv := made{vms: 20, disks: 2, policies: 4, stores: 4}.inventory(3)
	c := checked(t, inv, 1)
	want := all(t, c)
	vm := func(change func(v *VM)) func() (int, error) {
		v := inv.VMs[4]
		v.Disks = slices.Clone(v.Disks)
		change(&v)
		return func() (int, error) { return c.SetVM(v) }
	}
	follow := func(change func(n *Inventory)) func() (int, error) {
		n := shuffled(inv, rand.New(rand.NewPCG(1, 1)))
		n.Policies[0].Generation++ // fine, and not to be taken over alone
		change(n)
		return func() (int, error) { return c.Follow(n) }
	}
	for _, w := range []struct {
		set  func() (int, error)
		says string
	}{
		{func() (int, error) { return c.SetPolicy(Policy{Name: "policy-0"}) }, `policy "policy-0": it is not known: is it "policy-00"?`},
		{func() (int, error) {
			return c.SetPolicy(Policy{Name: "policy-00", Generation: 3, Sets: []RuleSet{{}, {}}})
		}, "sets[0] has no rules"},
		{func() (int, error) { return c.SetPolicy(Policy{}) }, "name is missing"},
		{func() (int, error) {
			return c.SetPolicy(Policy{Name: "policy-00", Generation: 3, Sets: []RuleSet{{Rules: []Rule{{"a.b", Equals, text("c")}}}}})
		}, `policy "policy-00": it changed, and its generation is still 3: raise it`},
		{func() (int, error) { return c.SetDatastore(Datastore{Name: "stor-00"}) }, `datastore "stor-00": it is not known: is it "store-00"?`},
		{func() (int, error) { return c.SetDatastore(Datastore{Name: "store-00", Generation: -1}) }, "generation -1 is negative"},
		{func() (int, error) {
			return c.SetDatastore(Datastore{Name: "store-00", Generation: 1, Capabilities: []Capability{{"a.b", text("c")}}})
		}, `datastore "store-00": it changed, and its generation is still 1: raise it`},
		{vm(func(v *VM) { v.Home.Applied = 77 }), `vm "vm-00004": home changed, and its generation is still`},
		{vm(func(v *VM) { v.Disks[1].Datastore, v.Disks[1].Policy = "", "" }), `vm "vm-00004": disk scsi0:1 changed, and its generation is still`},
		{vm(func(v *VM) { v.Name = "" }), "name is missing"},
		{follow(func(n *Inventory) { n.VMs = append(n.VMs, n.VMs[0]) }), "the name is there twice"},
		{follow(func(n *Inventory) { n.VMs = append(n.VMs, VM{Name: "x"}, VM{Name: "x"}) }), `vms[21] "x": the name is that of vms[20] as well`},
		{follow(func(n *Inventory) { n.Policies[1].Generation = -4 }), "generation -4 is negative"},
		{follow(func(n *Inventory) {
			n.Datastores[1] = Datastore{Name: n.Datastores[1].Name, Generation: 9, Tags: map[string][]string{"": nil}}
		}), "category of tags is missing"},
		{follow(func(n *Inventory) { n.Policies = append(n.Policies, n.Policies[0]) }), "the name is that of policies[0] as well"},
		{follow(func(n *Inventory) { n.Datastores[0] = n.Datastores[1] }), "the name is that of datastores[0] as well"},
	} {
		if n, err := w.set(); err == nil || n != 0 || !strings.Contains(err.Error(), w.says) {
			t.Errorf("%d judged, %v; want an error with %q", n, err, w.says)
		}
		same(t, "after a wrong change", all(t, c), want)
	}
	if c.RemoveVM("vm-99999") {
		t.Error("a machine that is not there was removed")
	}
	if _, found := c.VM("vm-99999"); found {
		t.Error("a machine that is not there was found")
	}
	if _, err := c.Follow(inv); err != nil {
		t.Error(err)
	}
	same(t, "after many wrong changes", all(t, c), want)
}
