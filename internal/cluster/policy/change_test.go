package policy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/effort"
)

// mutation is a random change of an inventory and of a checker. It returns the maximum number
// of objects affected.
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
	i := r.IntN(len(inv.VMs) + 1)
	switch k := r.IntN(8); {
	case k == 0:
		p := somePolicy(r, fmt.Sprintf("policy-%02d", r.IntN(7)), 1+r.Int64N(5))
		inv.Policies = append(slices.DeleteFunc(inv.Policies, func(o Policy) bool { return o.Name == p.Name }), p)
		return func(c *Checker) (int, error) { return c.SetPolicy(p) }, count(func(o *Object) bool { return o.Policy == p.Name })
	case k == 1:
		d := someStore(r, fmt.Sprintf("store-%02d", r.IntN(8)), 1)
		before := inv.Datastores
		inv.Datastores = append(slices.DeleteFunc(slices.Clone(before), func(o Datastore) bool { return o.Name == d.Name }), d)
		return func(c *Checker) (int, error) { return c.SetDatastore(d) }, count(on(d.Name, inv, before))
	case k == 2 && len(inv.Policies) > 1:
		name := inv.Policies[0].Name
		inv.Policies = slices.Clone(inv.Policies[1:])
		return func(c *Checker) (int, error) { return c.RemovePolicy(name), nil }, count(func(o *Object) bool { return o.Policy == name })
	case k == 3 && len(inv.Datastores) > 1:
		before, name := inv.Datastores, inv.Datastores[0].Name
		inv.Datastores = slices.Clone(before[1:])
		return func(c *Checker) (int, error) { return c.RemoveDatastore(name), nil }, count(on(name, inv, before))
	case k == 4 && i < len(inv.VMs):
		name := inv.VMs[i].Name
		inv.VMs = slices.Delete(inv.VMs, i, i+1)
		return func(c *Checker) (int, error) { c.RemoveVM(name); return 0, nil }, 0
	case i < len(inv.VMs):
		inv.VMs[i] = someVM(r, inv, inv.VMs[i].Name, r.IntN(4))
		v := inv.VMs[i]
		return func(c *Checker) (int, error) { return c.SetVM(v) }, 1 + len(v.Disks)
	}
	v := someVM(r, inv, fmt.Sprintf("new-%08x", r.Uint32()), r.IntN(4))
	inv.VMs = append(inv.VMs, v)
	return func(c *Checker) (int, error) { return c.SetVM(v) }, 1 + len(v.Disks)
}

// on selects the objects that depend on a datastore: those on it, and those whose policy has a
// rule on a capability that appears or disappears.
func on(name string, inv *Inventory, before []Datastore) func(o *Object) bool {
	return func(o *Object) bool {
		if o.Datastore == name {
			return true
		}
		at := slices.IndexFunc(inv.Policies, func(p Policy) bool { return p.Name == o.Policy })
		if at < 0 {
			return false
		}
		for _, s := range inv.Policies[at].Sets {
			for _, rule := range s.Rules {
				has := func(d Datastore) bool { return offeredBy(d, rule.Capability) }
				if slices.ContainsFunc(before, has) != slices.ContainsFunc(inv.Datastores, has) {
					return true
				}
			}
		}
		return false
	}
}

// After any change a checker has the results of a new one, and has judged only affected
// objects.
func TestIncrementalIsFull(t *testing.T) {
	var judged, dependent int
	for seed := range uint64(effort.Of(12)) {
		r := rand.New(rand.NewPCG(seed, 2))
		inv := made{vms: r.IntN(60), disks: 2, policies: 5, stores: 6}.inventory(seed)
		c := checked(t, inv)
		for step := range 30 {
			what := fmt.Sprintf("seed %d, step %d", seed, step)
			apply, dependents := mutation(r, inv)
			n, err := apply(c)
			if err != nil || n > dependents {
				t.Fatalf("%s: %d objects judged, of %d that depend on the change: %v", what, n, dependents, err)
			}
			judged, dependent = judged+n, dependent+dependents
			same(t, what, all(c), all(checked(t, inv)))
		}
	}
	if judged == 0 || judged == dependent {
		t.Errorf("%d objects judged of %d dependent ones: the test says little", judged, dependent)
	}
}

// A change of a datastore that changes no status judges no object.
func TestStatusesSpareObjects(t *testing.T) {
	inv := small()
	for i := range 100 {
		inv.VMs = append(inv.VMs, VM{Name: fmt.Sprint("vm", i), Home: Object{Datastore: "bad", Policy: "two", Applied: 4}})
	}
	c := checked(t, inv)
	d := Datastore{Name: "bad", Capabilities: []Capability{{"store.failures", exactly(0)}}}
	if n, err := c.SetDatastore(d); n != 0 || err != nil {
		t.Errorf("still too little: %d objects judged, %v", n, err)
	}
	if v := statusOf(c, "vm7"); v.Objects[0].Reasons[0] != "store.failures must be 2, and bad offers 0" || v.Objects[0].Misses[0].Offered != "offers 0" {
		t.Errorf("the reason is that of before: %+v", v.Objects[0])
	}
	d.Capabilities[0].Value = exactly(2)
	if n, err := c.SetDatastore(d); n != 100 || err != nil {
		t.Errorf("enough now: %d objects judged, %v", n, err)
	}
	if vms, _ := c.Counts(); vms.Compliant != 100 {
		t.Errorf("%+v", vms)
	}
}

func TestMisses(t *testing.T) {
	c := checked(t, small())
	for _, w := range []struct {
		policy, store string
		misses        int
		satisfied     bool
	}{{"two", "good", 0, true}, {"two", "bad", 1, false}, {"two", "mute", 1, false}, {"nothing", "bad", 0, true}, {"none", "good", 0, false}, {"two", "none", 0, false}} {
		if m, ok := c.Misses(w.policy, w.store); len(m) != w.misses || ok != w.satisfied {
			t.Errorf("%s on %s: %v %v", w.policy, w.store, m, ok)
		}
	}
}

// An invalid change is an error, and has no effect.
func TestWrongChanges(t *testing.T) {
	inv := made{vms: 20, disks: 2, policies: 4, stores: 4}.inventory(3)
	c := checked(t, inv)
	want := all(c)
	for _, w := range []struct {
		set  func() (int, error)
		says string
	}{
		{func() (int, error) { return c.SetPolicy(Policy{Name: "policy-00", Sets: []RuleSet{{}, {}}}) }, `policy "policy-00": sets[0] has no rules`},
		{func() (int, error) { return c.SetPolicy(Policy{}) }, "name is missing"},
		{func() (int, error) { return c.SetDatastore(Datastore{Name: "store-00", Generation: -1}) }, "generation -1 is negative"},
		{func() (int, error) { return c.SetVM(VM{Name: "vm-00004", Disks: []Object{{Name: "a"}, {Name: "a"}}}) }, `vm "vm-00004": two disks have the name "a"`},
		{func() (int, error) { return c.SetVM(VM{}) }, "name is missing"},
	} {
		if n, err := w.set(); err == nil || n != 0 || !strings.Contains(err.Error(), w.says) {
			t.Errorf("%d judged, %v; want an error with %q", n, err, w.says)
		}
	}
	c.RemoveVM("vm-99999")
	if n := c.RemovePolicy("none"); n != 0 {
		t.Errorf("%d judged", n)
	}
	same(t, "after wrong changes", all(c), want)
}
