package storage

import (
	"cmp"
	"slices"

	"github.com/vmware/govmomi/pbm/methods"
	pbm "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster/policy"
)

// solver is the placement solver.
type solver struct {
	types.ManagedObjectReference
	policies *PolicyManager
}

const hubStore = "Datastore"

// PbmCheckCompatibility returns the datastores that satisfy a profile, and what the others
// lack.
func (s *solver) PbmCheckCompatibility(ctx *simulator.Context, r *pbm.PbmCheckCompatibility) soap.HasFault {
	body := new(methods.PbmCheckCompatibilityBody)
	list, fault := s.compatible(ctx, r.HubsToSearch, r.Profile)
	body.Fault_, body.Res = fault, &pbm.PbmCheckCompatibilityResponse{Returnval: list}
	return body
}

// PbmCheckRequirements returns the datastores that satisfy several profiles.
func (s *solver) PbmCheckRequirements(ctx *simulator.Context, r *pbm.PbmCheckRequirements) soap.HasFault {
	body := new(methods.PbmCheckRequirementsBody)
	var ids []pbm.PbmProfileId
	for _, q := range r.PlacementSubjectRequirement {
		if asked, ok := q.(pbm.BasePbmPlacementCapabilityProfileRequirement); ok {
			ids = append(ids, asked.GetPbmPlacementCapabilityProfileRequirement().ProfileId)
		}
	}
	list, fault := s.compatible(ctx, r.HubsToSearch, ids...)
	body.Fault_, body.Res = fault, &pbm.PbmCheckRequirementsResponse{Returnval: list}
	return body
}

// PbmQueryMatchingHub lists the datastores that satisfy a profile.
func (s *solver) PbmQueryMatchingHub(ctx *simulator.Context, r *pbm.PbmQueryMatchingHub) soap.HasFault {
	body := new(methods.PbmQueryMatchingHubBody)
	list, fault := s.compatible(ctx, r.HubsToSearch, r.Profile)
	body.Fault_, body.Res = fault, &pbm.PbmQueryMatchingHubResponse{}
	for _, one := range list {
		if len(one.Error) == 0 {
			body.Res.Returnval = append(body.Res.Returnval, one.Hub)
		}
	}
	return body
}

// compatible judges the given datastores, or all.
func (s *solver) compatible(ctx *simulator.Context, hubs []pbm.PbmPlacementHub, ids ...pbm.PbmProfileId) (list []pbm.PbmPlacementCompatibilityResult, fault *soap.Fault) {
	fault = s.policies.with(ctx, func() *soap.Fault {
		if len(hubs) == 0 {
			for id := range s.policies.stores {
				hubs = append(hubs, pbm.PbmPlacementHub{HubType: hubStore, HubId: id})
			}
			slices.SortFunc(hubs, func(a, b pbm.PbmPlacementHub) int { return cmp.Compare(a.HubId, b.HubId) })
		}
		for _, hub := range hubs {
			if _, is := s.policies.stores[hub.HubId]; !is {
				continue // a storage pod, or removed
			}
			one := pbm.PbmPlacementCompatibilityResult{Hub: hub}
			for _, id := range ids {
				p := s.policies.profiles.byID[id.UniqueId]
				if p == nil {
					return wrong("profile")
				}
				misses, ok := s.policies.checker.Misses(id.UniqueId, hub.HubId)
				if !ok {
					one.Error = append(one.Error, mismatch(hub, p, misses)...)
				}
			}
			list = append(list, one)
		}
		return nil
	})
	return list, fault
}

// mismatch is why a datastore does not satisfy a profile.
func mismatch(hub pbm.PbmPlacementHub, p *pbm.PbmCapabilityProfile, misses []policy.Miss) (list []types.LocalizedMethodFault) {
	asked := parts(p)
	for _, m := range misses {
		fault := &pbm.PbmPropertyMismatchFault{}
		fault.Hub = hub
		if is, has := asked[m.Capability]; has {
			fault.CapabilityInstanceId = is.Id
			if len(is.Constraint) > 0 && len(is.Constraint[0].PropertyInstance) > 0 {
				fault.RequirementPropertyInstance = is.Constraint[0].PropertyInstance[0]
			}
		}
		list = append(list, types.LocalizedMethodFault{Fault: fault, LocalizedMessage: m.Capability + " " + m.Asked + ", and the datastore " + m.Offered})
	}
	if list == nil {
		list = append(list, types.LocalizedMethodFault{Fault: &pbm.PbmCompatibilityCheckFault{Hub: hub}, LocalizedMessage: "the datastore cannot be judged"})
	}
	return list
}
