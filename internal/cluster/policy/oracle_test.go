package policy

import (
	"slices"
	"testing"
)

// statusBy is the status of an object by the definitions, without regard to speed: each value
// as the list of its members.
func statusBy(inv *Inventory, o *Object) Status {
	if o.Policy == "" {
		return NotApplicable
	}
	listed := slices.IndexFunc(inv.Policies, func(p Policy) bool { return p.Name == o.Policy })
	if listed < 0 {
		return Unknown
	}
	p := inv.Policies[listed]
	if o.Applied != p.Generation {
		if o.Applied < p.Generation {
			return OutOfDate
		}
		return Unknown
	}
	if len(p.Sets) == 0 {
		return NotApplicable
	}
	at := slices.IndexFunc(inv.Datastores, func(d Datastore) bool { return d.Name == o.Datastore })
	if at < 0 {
		return Unknown
	}
	someUnknown := false
	for _, s := range p.Sets {
		fails, unknowns := 0, 0
		for _, rule := range s.Rules {
			switch holds, known := holdsBy(inv, &inv.Datastores[at], &rule); {
			case !known:
				unknowns++
			case !holds:
				fails++
			}
		}
		if fails == 0 && unknowns == 0 {
			return Compliant
		}
		someUnknown = someUnknown || fails == 0
	}
	if someUnknown {
		return Unknown
	}
	return NonCompliant
}

func (t *tally) add(o *tally) {
	for s, n := range o {
		t[s] += n
	}
}

// offeredBy says whether a datastore has a capability at all.
func offeredBy(d Datastore, capability string) bool {
	return slices.ContainsFunc(d.Capabilities, func(c Capability) bool { return c.Name == capability }) || capability == "tag.tier" && d.Tags["tier"] != nil
}

func holdsBy(inv *Inventory, d *Datastore, r *Rule) (holds, known bool) {
	if d.Silent {
		return false, false
	}
	var offered *Value
	for i := range d.Capabilities {
		if d.Capabilities[i].Name == r.Capability {
			offered = &d.Capabilities[i].Value
		}
	}
	if r.Capability == "tag.tier" && d.Tags["tier"] != nil {
		offered = &Value{Set: d.Tags["tier"]}
	}
	if offered == nil {
		somewhere := slices.ContainsFunc(inv.Datastores, func(d Datastore) bool { return offeredBy(d, r.Capability) })
		return r.Is == Not, r.Is == Not || somewhere
	}
	wantTexts, wantNumbers := inside(&r.Value)
	texts, numbers := inside(offered)
	if (len(wantTexts) > 0) != (len(texts) > 0) {
		return false, false
	}
	has := slices.ContainsFunc(wantTexts, func(s string) bool { return slices.Contains(texts, s) }) ||
		slices.ContainsFunc(wantNumbers, func(n int64) bool { return slices.Contains(numbers, n) })
	return has != (r.Is == Not), true
}

// inside lists the members of a value; its numbers are from 0 to 20.
func inside(v *Value) (texts []string, numbers []int64) {
	if v.Text != "" {
		return []string{v.Text}, nil
	}
	for n := range int64(21) {
		if v.Number != nil && *v.Number == n || (v.From != nil || v.To != nil) && (v.From == nil || *v.From <= n) && (v.To == nil || n <= *v.To) {
			numbers = append(numbers, n)
		}
	}
	return v.Set, numbers
}

func TestAgainstDefinitions(t *testing.T) {
	var seen tally
	for seed := range uint64(60) {
		inv := made{vms: 40, disks: 3, policies: 6, stores: 8}.inventory(seed)
		c := checked(t, inv)
		var objects, vms tally
		for i := range inv.VMs {
			v := &inv.VMs[i]
			got := statusOf(c, v.Name)
			worst := NotApplicable
			for k, o := range append([]Object{v.Home}, v.Disks...) {
				want := statusBy(inv, &o)
				if got.Objects[k].Status != want {
					t.Fatalf("seed %d, %s: %+v, want %v", seed, v.Name, got.Objects[k], want)
				}
				if (want == Compliant) != (len(got.Objects[k].Reasons) == 0) {
					t.Fatalf("seed %d, %s: %v with the reasons %q", seed, v.Name, want, got.Objects[k].Reasons)
				}
				objects[want]++
				worst = max(worst, want)
			}
			vms[worst]++
		}
		if gotVMs, gotObjects := c.Counts(); gotVMs != vms.counts() || gotObjects != objects.counts() {
			t.Fatalf("seed %d: %+v and %+v, want %+v and %+v", seed, gotVMs, gotObjects, vms.counts(), objects.counts())
		}
		seen.add(&objects)
		listed(t, c.Report())
	}
	for s, n := range seen {
		if n < 50 {
			t.Errorf("only %d objects were %v: the test says little about it", n, Status(s))
		}
	}
}

// listed checks that findings and counts of a report agree, and that no datastore is listed as
// both satisfying and violating a policy.
func listed(t *testing.T, r *Report) {
	t.Helper()
	var found tally
	for _, f := range r.Findings {
		found[f.Status] += len(f.Objects)
		if f.Status == NonCompliant && (slices.Contains(f.Elsewhere, f.Datastore) || len(f.Misses) == 0) {
			t.Errorf("%+v", f)
		}
	}
	if got, o := found.counts(), r.Objects; got.NonCompliant != o.NonCompliant || got.Unknown != o.Unknown || got.OutOfDate != o.OutOfDate || got.Compliant+got.NotApplicable != 0 {
		t.Errorf("findings list %+v of %+v", got, o)
	}
	var policies int
	for _, p := range r.Policies {
		policies += p.Objects.All()
	}
	if policies > r.Objects.All() {
		t.Errorf("%d objects have policies, of %d", policies, r.Objects.All())
	}
}
