// Package capability converts between the storage policies of vSphere and those of the policy
// checker. The client reads them, the simulator also writes them: what it writes is read back
// unchanged.
package capability

import (
	"math"
	"strings"

	pbm "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster/policy"
)

const (
	// tagSpace is vSphere's namespace of tags; the checker's is tag.
	tagSpace  = "http://www.vmware.com/storage/tag"
	tagPrefix = "tag."
	// negation is the operator of a property whose value must not be offered.
	negation = string(pbm.PbmCapabilityOperatorNOT)
)

// Constraints are the rule sets of a policy.
func Constraints(sets []policy.RuleSet) *pbm.PbmCapabilitySubProfileConstraints {
	made := &pbm.PbmCapabilitySubProfileConstraints{}
	for i := range sets {
		sub := pbm.PbmCapabilitySubProfile{Name: sets[i].Name}
		for k := range sets[i].Rules {
			sub.Capability = append(sub.Capability, rule(&sets[i].Rules[k]))
		}
		made.SubProfiles = append(made.SubProfiles, sub)
	}
	return made
}

func rule(r *policy.Rule) pbm.PbmCapabilityInstance {
	operator := ""
	if r.Is == policy.Not {
		operator = negation
	}
	return write(r.Capability, operator, &r.Value)
}

// Offers are the capabilities of a datastore, without its tags.
func Offers(list []policy.Capability) *pbm.PbmCapabilitySubProfileConstraints {
	sub := pbm.PbmCapabilitySubProfile{Name: "capabilities"}
	for i := range list {
		sub.Capability = append(sub.Capability, Instance(list[i].Name, &list[i].Value))
	}
	return &pbm.PbmCapabilitySubProfileConstraints{SubProfiles: []pbm.PbmCapabilitySubProfile{sub}}
}

// Instance is an offered capability, or a tag.
func Instance(name string, v *policy.Value) pbm.PbmCapabilityInstance { return write(name, "", v) }

func write(name, operator string, v *policy.Value) pbm.PbmCapabilityInstance {
	space, id, _ := strings.Cut(name, ".")
	property := id
	if space+"." == tagPrefix {
		space, property = tagSpace, "com.vmware.storage.tag."+id+".property"
	}
	return pbm.PbmCapabilityInstance{
		Id: pbm.PbmCapabilityMetadataUniqueId{Namespace: space, Id: id},
		Constraint: []pbm.PbmCapabilityConstraintInstance{{
			PropertyInstance: []pbm.PbmCapabilityPropertyInstance{{Id: property, Operator: operator, Value: value(v)}},
		}},
	}
}

// value converts a value. An open end of a range is the smallest or the largest number.
func value(v *policy.Value) types.AnyType {
	switch {
	case v.Text != "":
		return v.Text
	case v.Set != nil:
		set := pbm.PbmCapabilityDiscreteSet{}
		for _, text := range v.Set {
			set.Values = append(set.Values, text)
		}
		return set
	case v.Number != nil:
		return *v.Number
	}
	r := pbm.PbmCapabilityRange{Min: int64(math.MinInt64), Max: int64(math.MaxInt64)}
	if v.From != nil {
		r.Min = *v.From
	}
	if v.To != nil {
		r.Max = *v.To
	}
	return r
}
