package policy

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// made is an inventory of a given size with some of each status in every part.
type made struct{ vms, disks, policies, stores int }

func (m made) inventory(seed uint64) *Inventory {
	r := rand.New(rand.NewPCG(seed, 1))
	inv := &Inventory{}
	for i := range m.stores {
		inv.Datastores = append(inv.Datastores, someStore(r, fmt.Sprintf("store-%02d", i), 1))
	}
	for i := range m.policies {
		inv.Policies = append(inv.Policies, somePolicy(r, fmt.Sprintf("policy-%02d", i), 3))
	}
	for i := range m.vms {
		inv.VMs = append(inv.VMs, someVM(r, inv, fmt.Sprintf("vm-%05d", i), m.disks))
	}
	return inv
}

func number(n int64) *int64 { return &n }

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

func some(r *rand.Rand, list ...string) []string {
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:1+r.IntN(len(list))]
}

func someStore(r *rand.Rand, name string, generation int64) Datastore {
	d := Datastore{Name: name, Generation: generation, Silent: r.IntN(12) == 0}
	if r.IntN(6) > 0 {
		d.Capabilities = append(d.Capabilities, Capability{"store.kind", Value{Text: pick(r, "file", "block", "object")}})
	}
	if r.IntN(6) > 0 {
		from := r.Int64N(3)
		d.Capabilities = append(d.Capabilities, Capability{"store.failures", Value{From: &from, To: number(from + r.Int64N(3))}})
	}
	if r.IntN(6) > 0 {
		v := Value{Number: number(r.Int64N(10))}
		if r.IntN(8) == 0 {
			v = Value{Text: "low"}
		}
		d.Capabilities = append(d.Capabilities, Capability{"store.latency", v})
	}
	if r.IntN(6) > 0 {
		d.Tags = map[string][]string{"tier": some(r, "gold", "silver", "bronze")}
	}
	return d
}

func someRule(r *rand.Rand) Rule {
	switch r.IntN(6) {
	case 0:
		return Rule{"store.kind", Equals, Value{Text: pick(r, "file", "block")}}
	case 1:
		return Rule{"store.failures", Equals, Value{Number: number(r.Int64N(4))}}
	case 2:
		return Rule{"tag.tier", OneOf, Value{Set: some(r, "gold", "silver", "bronze")}}
	case 3:
		return Rule{"store.latency", Within, Value{To: number(r.Int64N(10))}}
	case 4:
		return Rule{"tag.tier", Not, Value{Text: pick(r, "bronze", "silver")}}
	}
	from := r.Int64N(3)
	return Rule{"store.failures", Not, Value{From: &from, To: number(from + 1)}}
}

func somePolicy(r *rand.Rand, name string, generation int64) Policy {
	p := Policy{Name: name, Generation: generation}
	for range r.IntN(4) {
		var s RuleSet
		for range 1 + r.IntN(2) {
			s.Rules = append(s.Rules, someRule(r))
		}
		if len(s.Rules) == 2 && s.Rules[0].Capability == s.Rules[1].Capability {
			s.Rules = s.Rules[:1]
		}
		p.Sets = append(p.Sets, s)
	}
	return p
}

func someVM(r *rand.Rand, inv *Inventory, name string, disks int) VM {
	v := VM{Name: name, Home: someObject(r, inv, "")}
	for i := range disks {
		v.Disks = append(v.Disks, someObject(r, inv, fmt.Sprint("scsi0:", i)))
	}
	return v
}

func someObject(r *rand.Rand, inv *Inventory, name string) Object {
	o := Object{Name: name, Generation: 1 + r.Int64N(1<<40)}
	if r.IntN(20) > 0 {
		o.Datastore = inv.Datastores[r.IntN(len(inv.Datastores))].Name
	}
	if r.IntN(10) > 0 {
		p := inv.Policies[r.IntN(len(inv.Policies))]
		o.Policy, o.Applied = p.Name, p.Generation+pick[int64](r, 0, 0, 0, 0, 0, 0, 0, 0, -1, 1)
	}
	return o
}

// shuffled is the same inventory in another order.
func shuffled(inv *Inventory, r *rand.Rand) *Inventory {
	s := &Inventory{slices.Clone(inv.Datastores), slices.Clone(inv.Policies), slices.Clone(inv.VMs)}
	r.Shuffle(len(s.Datastores), func(i, j int) { s.Datastores[i], s.Datastores[j] = s.Datastores[j], s.Datastores[i] })
	r.Shuffle(len(s.Policies), func(i, j int) { s.Policies[i], s.Policies[j] = s.Policies[j], s.Policies[i] })
	r.Shuffle(len(s.VMs), func(i, j int) { s.VMs[i], s.VMs[j] = s.VMs[j], s.VMs[i] })
	return s
}
