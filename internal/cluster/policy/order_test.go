package policy

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"plimsoll/internal/difftest"
)

// everything is all results of a checker.
type everything struct {
	Report *Report
	VMs    []vmStatus
}

func all(c *Checker) everything {
	e := everything{Report: c.Report()}
	for _, name := range vmNames(c) {
		e.VMs = append(e.VMs, statusOf(c, name))
	}
	return e
}

func checked(t *testing.T, inv *Inventory) *Checker {
	t.Helper()
	c, err := New(inv)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func same(t *testing.T, what string, got, want everything) {
	t.Helper()
	if lines := difftest.Lines(got, want); lines != "" {
		t.Fatalf("%s:\n%s", what, lines)
	}
}

// vmStatus is all about one VM.
type vmStatus struct {
	Status  Status
	Objects []objectStatus
}

type objectStatus struct {
	ObjectStatus
	Reasons []string
}

// statusOf is the status of an existing VM.
func statusOf(c *Checker, name string) vmStatus {
	is, _ := c.VM(name)
	v := vmStatus{Status: is.Status}
	m := &c.vms[c.catalog.known.vms[name]]
	for i := range m.objects {
		v.Objects = append(v.Objects, objectStatus{is.Objects[i], c.catalog.reasons(&m.objects[i])})
	}
	return v
}

func vmNames(c *Checker) []string { return slices.Sorted(maps.Keys(c.catalog.known.vms)) }

// The order of lists has no effect.
func TestOrderChangesNothing(t *testing.T) {
	inv := made{vms: 300, disks: 2, policies: 9, stores: 11}.inventory(5)
	want := all(checked(t, inv))
	r := rand.New(rand.NewPCG(5, 5))
	for range 7 {
		same(t, "another order", all(checked(t, shuffled(inv, r))), want)
	}
}

// The order of rules, sets and values affects only the order of reasons.
func TestOrderWithinPolicies(t *testing.T) {
	inv := made{vms: 200, disks: 2, policies: 9, stores: 11}.inventory(6)
	before := checked(t, inv)
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
	after := checked(t, inv)
	for _, name := range vmNames(before) {
		a := statusOf(before, name)
		b := statusOf(after, name)
		for i := range a.Objects {
			if a.Objects[i].Status != b.Objects[i].Status {
				t.Errorf("%s: %+v, and the other way round %+v", name, a.Objects[i], b.Objects[i])
			}
		}
	}
}
