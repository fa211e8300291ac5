package vsphere_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"reflect"
	"testing"

	pbm "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"

	"plimsoll/internal/cluster/policy"
	"plimsoll/internal/difftest"
	"plimsoll/internal/vsphere/capability"
)

func number(n int64) *int64 { return &n }

var policyValues = []policy.Value{
	{Text: "gold"}, {Set: []string{"gold", "silver"}}, {Number: number(-3)}, {From: number(1), To: number(4)},
	{From: number(7)}, {To: number(9)}, {Number: number(math.MaxInt64)}, {From: number(math.MinInt64), To: number(math.MaxInt64)},
}

// What is written is read back the same, also as XML.
func TestReadBack(t *testing.T) {
	operators := []policy.Operator{policy.Equals, policy.OneOf, policy.Equals, policy.Within, policy.Within, policy.Within, policy.Equals, policy.Within}
	want := policy.Policy{Name: "p", Generation: 5}
	store := policy.Datastore{Name: "s"}
	for i, v := range policyValues {
		want.Sets = append(want.Sets, policy.RuleSet{Name: "set", Rules: []policy.Rule{
			{Capability: "vsan.failures", Is: operators[i], Value: v}, {Capability: "tag.storage tier", Is: policy.Not, Value: v}, {Capability: "a.b.c", Is: operators[i], Value: v},
		}})
		store.Capabilities = append(store.Capabilities, policy.Capability{Name: "vsan.c" + string(rune('a'+i)), Value: v})
	}
	p := &pbm.PbmCapabilityProfile{PbmProfile: pbm.PbmProfile{Name: "p"}, GenerationId: 5, Constraints: capability.Constraints(want.Sets)}
	if lines := difftest.Lines(capability.Policy(through(t, p)), want); lines != "" {
		t.Error(lines)
	}
	p.Constraints = capability.Offers(store.Capabilities)
	if lines := difftest.Lines(capability.Capabilities(through(t, p)), store.Capabilities); lines != "" {
		t.Error(lines)
	}
}

// through is a profile after it was sent.
func through(t *testing.T, p *pbm.PbmCapabilityProfile) *pbm.PbmCapabilityProfile {
	t.Helper()
	var b bytes.Buffer
	if err := xml.NewEncoder(&b).Encode(p); err != nil {
		t.Fatal(err)
	}
	dec := xml.NewDecoder(&b)
	dec.TypeFunc = func(name string) (reflect.Type, bool) {
		if kind, ok := types.TypeFunc()(name); ok {
			return kind, true
		}
		return types.TypeFunc()("pbm:" + name)
	}
	var out pbm.PbmCapabilityProfile
	if err := dec.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return &out
}

func profile(subs ...pbm.PbmCapabilitySubProfile) *pbm.PbmCapabilityProfile {
	return &pbm.PbmCapabilityProfile{PbmProfile: pbm.PbmProfile{Name: "p"}, Constraints: &pbm.PbmCapabilitySubProfileConstraints{SubProfiles: subs}}
}

func capabilityOf(values ...types.AnyType) pbm.PbmCapabilityInstance {
	c := pbm.PbmCapabilityInstance{Id: pbm.PbmCapabilityMetadataUniqueId{Namespace: "VSAN", Id: "x"}}
	for _, v := range values {
		c.Constraint = append(c.Constraint, pbm.PbmCapabilityConstraintInstance{PropertyInstance: []pbm.PbmCapabilityPropertyInstance{{Id: "x", Value: v}, {Id: "y", Value: true}}})
	}
	return c
}

func TestForms(t *testing.T) {
	p := capability.Policy(profile(pbm.PbmCapabilitySubProfile{Capability: []pbm.PbmCapabilityInstance{
		capabilityOf(int32(1), pbm.PbmCapabilityTimeSpan{Value: 2, Unit: "HOURS"}), capabilityOf(2.5, "z"),
	}}))
	if len(p.Sets) != 4 {
		t.Fatalf("two alternatives of two capabilities are %d sets: %+v", len(p.Sets), p.Sets)
	}
	first := p.Sets[3].Rules
	if len(first) != 3 || first[0].Capability != "VSAN.x" || *first[0].Number != 7200 || first[1].Capability != "VSAN.x.y" || first[1].Text != "true" || first[2].Text != "z" {
		t.Errorf("%+v", first)
	}
	if p := capability.Policy(profile(pbm.PbmCapabilitySubProfile{})); len(p.Sets) != 0 {
		t.Errorf("no capability asks %+v", p.Sets)
	}
	if p := capability.Policy(&pbm.PbmCapabilityProfile{Constraints: &pbm.PbmCapabilityConstraints{}}); len(p.Sets) != 0 {
		t.Errorf("no constraint asks %+v", p.Sets)
	}
	if p := capability.Policy(&pbm.PbmCapabilityProfile{Constraints: strange{}}); p.Sets[0].Rules[0].Capability != "unread.constraint" {
		t.Errorf("%+v", p.Sets)
	}
	many := make([]types.AnyType, 20)
	for i := range many {
		many[i] = int32(i)
	}
	if p := capability.Policy(profile(pbm.PbmCapabilitySubProfile{Capability: []pbm.PbmCapabilityInstance{capabilityOf(many...), capabilityOf(many...)}})); len(p.Sets) != 1 || p.Sets[0].Rules[0].Capability != "unread.constraint" {
		t.Errorf("%d sets", len(p.Sets))
	}
}

// strange is a kind of constraints that is not known.
type strange struct {
	pbm.BasePbmCapabilityConstraints
}

// Whatever a vCenter answers becomes a policy and a datastore that the checker takes.
func FuzzRead(f *testing.F) {
	f.Add("VSAN", "x", "y", "gold", "NOT", int64(3), uint16(0x1234))
	f.Add("http://www.vmware.com/storage/tag", "tier", "", "\x00", "", int64(-1), uint16(0xffff))
	f.Add("", "", "", "", "", int64(math.MinInt64), uint16(7))
	f.Add("tag", "a", "a.b", "HOURS", "NOT", int64(1)<<40, uint16(0x0666))
	f.Fuzz(func(t *testing.T, space, id, property, text, operator string, n int64, shape uint16) {
		choices := []types.AnyType{text, n, int32(n), true, 1.5, nil, pbm.PbmCapabilityDiscreteSet{}, &pbm.PbmCapabilityDiscreteSet{Values: []types.AnyType{text, n, text}},
			pbm.PbmCapabilityRange{Min: n, Max: int64(3)}, &pbm.PbmCapabilityRange{Min: text, Max: n}, &pbm.PbmCapabilityTimeSpan{Value: int32(n), Unit: text}, byte(n)}
		bits := binary.BigEndian.AppendUint16(nil, shape)
		var sub pbm.PbmCapabilitySubProfile
		sub.Name = text
		for _, b := range bits {
			c := pbm.PbmCapabilityInstance{Id: pbm.PbmCapabilityMetadataUniqueId{Namespace: space, Id: id}}
			for range b >> 6 {
				c.Constraint = append(c.Constraint, pbm.PbmCapabilityConstraintInstance{PropertyInstance: []pbm.PbmCapabilityPropertyInstance{
					{Id: property, Operator: operator, Value: choices[int(b)%len(choices)]}, {Id: id, Value: choices[int(b>>2)%len(choices)]},
				}})
			}
			sub.Capability = append(sub.Capability, c)
		}
		p := profile(sub, sub)
		p.Name, p.GenerationId = text, n
		inv := policy.Inventory{Policies: []policy.Policy{capability.Policy(p)}, Datastores: []policy.Datastore{{Name: "s", Capabilities: capability.Capabilities(p)}}}
		if err := inv.Validate(); err != nil {
			t.Errorf("%v\n%+v", err, inv)
		}
	})
}
