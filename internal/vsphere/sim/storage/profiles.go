package storage

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"time"

	"github.com/google/uuid"
	stock "github.com/vmware/govmomi/pbm/simulator"
	pbm "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/simulator"

	pbmmethods "github.com/vmware/govmomi/pbm/methods"

	"plimsoll/internal/cluster/policy"
	"plimsoll/internal/vsphere/capability"
)

// The categories of profiles.
const (
	requirement = string(pbm.PbmProfileCategoryEnumREQUIREMENT)
	resource    = string(pbm.PbmProfileCategoryEnumRESOURCE)
)

// profiles are the storage policies, and for each datastore with capabilities a profile of
// them. A profile is immutable: a change replaces it.
type profiles struct {
	list  []*pbm.PbmCapabilityProfile // oldest first
	byID  map[string]*pbm.PbmCapabilityProfile
	store map[string]string // identifiers of datastores, by that of the profile
}

// newProfiles are vCenter's initial ones.
func newProfiles() *profiles {
	p := &profiles{byID: map[string]*pbm.PbmCapabilityProfile{}, store: map[string]string{}}
	original, ok := builtin().(*stock.ProfileManager)
	if !ok {
		return p
	}
	asked := &pbm.PbmQueryProfileDetails{ProfileCategory: requirement}
	for _, d := range original.PbmQueryProfileDetails(asked).(*pbmmethods.PbmQueryProfileDetailsBody).Res.Returnval {
		if is, ok := d.Profile.(*pbm.PbmCapabilityProfile); ok {
			made := *is
			p.put(&made)
		}
	}
	return p
}

// builtin is the manager of the original simulator.
func builtin() any {
	reg := stock.New()
	for _, o := range reg.AllReference("PbmProfileProfileManager") {
		return o
	}
	return nil
}

// put adds or replaces a profile.
func (p *profiles) put(is *pbm.PbmCapabilityProfile) {
	id := is.ProfileId.UniqueId
	if old := p.byID[id]; old != nil {
		p.list[slices.Index(p.list, old)] = is
	} else {
		p.list = append(p.list, is)
	}
	p.byID[id] = is
}

func (p *profiles) remove(id string) {
	if old := p.byID[id]; old != nil {
		p.list = slices.Delete(p.list, slices.Index(p.list, old), 1+slices.Index(p.list, old))
		delete(p.byID, id)
	}
}

// named is the storage policy with a name, or nil.
func (p *profiles) named(name string) *pbm.PbmCapabilityProfile {
	for _, is := range p.list {
		if is.Name == name && is.ProfileCategory == requirement {
			return is
		}
	}
	return nil
}

// policies are all storage policies in the checker's form.
func (p *profiles) policies() (list []policy.Policy) {
	for _, is := range p.list {
		if is.ProfileCategory == requirement {
			list = append(list, translated(is))
		}
	}
	return list
}

// translated is a storage policy in the checker's form, under its identifier.
func translated(is *pbm.PbmCapabilityProfile) policy.Policy {
	made := capability.Policy(is)
	made.Name = is.ProfileId.UniqueId
	return made
}

// stamp is the time and the author of a creation.
type stamp struct {
	at   time.Time
	user string
}

// made is a new profile.
func made(name, category string, constraints pbm.BasePbmCapabilityConstraints, by stamp) *pbm.PbmCapabilityProfile {
	return &pbm.PbmCapabilityProfile{
		PbmProfile: pbm.PbmProfile{
			ProfileId: pbm.PbmProfileId{UniqueId: uuid.NewString()}, Name: name,
			CreationTime: by.at, CreatedBy: by.user, LastUpdatedTime: by.at, LastUpdatedBy: by.user,
		},
		ProfileCategory: category, Constraints: constraints,
		ResourceType: pbm.PbmProfileResourceType{ResourceType: string(pbm.PbmProfileResourceTypeEnumSTORAGE)},
	}
}

// fixed derives an identifier from a text, equal in each run.
func fixed(text string) pbm.PbmProfileId {
	sum := sha256.Sum256([]byte(text))
	id, _ := uuid.FromBytes(sum[:16])
	return pbm.PbmProfileId{UniqueId: id.String()}
}

// user is the account of a call.
func user(ctx *simulator.Context) string {
	if ctx.Session == nil {
		return ""
	}
	return cmp.Or(ctx.Session.UserName, "unknown")
}

// parts are the capabilities in a profile, by the checker's names.
func parts(is *pbm.PbmCapabilityProfile) map[string]pbm.PbmCapabilityInstance {
	made := map[string]pbm.PbmCapabilityInstance{}
	constraints, ok := is.Constraints.(*pbm.PbmCapabilitySubProfileConstraints)
	if !ok {
		return made
	}
	for _, sub := range constraints.SubProfiles {
		for _, c := range sub.Capability {
			for _, k := range c.Constraint {
				for _, property := range k.PropertyInstance {
					name := capability.Name(c.Id, property.Id)
					if _, has := made[name]; !has {
						made[name] = c
					}
				}
			}
		}
	}
	return made
}
