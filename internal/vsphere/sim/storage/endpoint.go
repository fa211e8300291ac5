package storage

import (
	"slices"

	"github.com/vmware/govmomi/pbm/methods"
	stock "github.com/vmware/govmomi/pbm/simulator"
	pbm "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/shadow"
)

// SDK is the endpoint /pbm: that of the original simulator with our managers.
func (d *PolicyManager) SDK() *simulator.Registry {
	reg := stock.New()
	var content pbm.PbmServiceInstanceContent
	for _, o := range reg.AllReference("PbmServiceInstance") {
		if is, ok := o.(*stock.ServiceInstance); ok {
			content = is.Content
		}
	}
	reg.Put(&manager{ManagedObjectReference: content.ProfileManager, policies: d})
	reg.Put(&compliance{ManagedObjectReference: content.ComplianceManager, policies: d})
	reg.Put(&solver{ManagedObjectReference: content.PlacementSolver, policies: d})
	return reg
}

// manager is the profile manager.
type manager struct {
	types.ManagedObjectReference
	shadow.Unlocked
	policies *PolicyManager
}

// wrong is the fault of a call with an invalid argument.
func wrong(property string) *soap.Fault {
	return simulator.Fault("", &types.InvalidArgument{InvalidProperty: property})
}

// with runs a part of a call with the policies locked and up to date.
func (d *PolicyManager) with(ctx *simulator.Context, do func() *soap.Fault) *soap.Fault {
	d.m.Lock()
	defer d.m.Unlock()
	if err := d.refresh(ctx); err != nil {
		return simulator.Fault(err.Error(), &types.SystemError{Reason: err.Error()})
	}
	return do()
}

// PbmQueryProfile lists profiles.
func (m *manager) PbmQueryProfile(r *pbm.PbmQueryProfile) soap.HasFault {
	body := &methods.PbmQueryProfileBody{Res: &pbm.PbmQueryProfileResponse{}}
	m.policies.m.Lock()
	defer m.policies.m.Unlock()
	for _, p := range m.policies.profiles.list {
		if p.ResourceType == r.ResourceType && (r.ProfileCategory == "" || p.ProfileCategory == r.ProfileCategory) {
			body.Res.Returnval = append(body.Res.Returnval, p.ProfileId)
		}
	}
	return body
}

// PbmQueryProfileDetails lists profiles with their content.
func (m *manager) PbmQueryProfileDetails(r *pbm.PbmQueryProfileDetails) soap.HasFault {
	body := &methods.PbmQueryProfileDetailsBody{Res: &pbm.PbmQueryProfileDetailsResponse{}}
	m.policies.m.Lock()
	defer m.policies.m.Unlock()
	for _, p := range m.policies.profiles.list {
		if r.ProfileCategory == "" || p.ProfileCategory == r.ProfileCategory {
			body.Res.Returnval = append(body.Res.Returnval, pbm.PbmProfileDetails{Profile: p})
		}
	}
	return body
}

// PbmRetrieveContent reads profiles.
func (m *manager) PbmRetrieveContent(r *pbm.PbmRetrieveContent) soap.HasFault {
	body := new(methods.PbmRetrieveContentBody)
	if len(r.ProfileIds) == 0 {
		body.Fault_ = simulator.Fault("", new(types.InvalidRequest))
		return body
	}
	m.policies.m.Lock()
	defer m.policies.m.Unlock()
	res := &pbm.PbmRetrieveContentResponse{}
	for _, id := range r.ProfileIds {
		p := m.policies.profiles.byID[id.UniqueId]
		if p == nil {
			body.Fault_ = wrong("profileId")
			return body
		}
		res.Returnval = append(res.Returnval, p)
	}
	body.Res = res
	return body
}

// PbmCreate creates a profile.
func (m *manager) PbmCreate(ctx *simulator.Context, r *pbm.PbmCreate) soap.HasFault {
	body := new(methods.PbmCreateBody)
	spec := &r.CreateSpec
	category := spec.Category
	if category == "" {
		category = requirement
	}
	if spec.Name == "" || category == resource {
		body.Fault_ = wrong("createSpec")
		return body
	}
	body.Fault_ = m.policies.with(ctx, func() *soap.Fault {
		if m.policies.profiles.named(spec.Name) != nil {
			return simulator.Fault("", &pbm.PbmDuplicateName{Name: spec.Name})
		}
		p := made(spec.Name, category, spec.Constraints, stamp{m.policies.options.Now(), user(ctx)})
		p.Description, p.K8sCompliantName = spec.Description, spec.K8sCompliantName
		if spec.ResourceType.ResourceType != "" {
			p.ResourceType = spec.ResourceType
		}
		if fault := m.policies.publish(p); fault != nil {
			return fault
		}
		body.Res = &pbm.PbmCreateResponse{Returnval: p.ProfileId}
		return nil
	})
	return body
}

// publish adds or replaces a profile in the checker.
func (d *PolicyManager) publish(p *pbm.PbmCapabilityProfile) *soap.Fault {
	if p.ProfileCategory == requirement {
		if _, err := d.checker.SetPolicy(translated(p)); err != nil {
			return simulator.Fault(err.Error(), &types.InvalidArgument{InvalidProperty: "constraints"})
		}
	}
	d.profiles.put(p)
	return nil
}

// PbmUpdate changes a profile. Its objects are out of date until it is applied again.
func (m *manager) PbmUpdate(ctx *simulator.Context, r *pbm.PbmUpdate) soap.HasFault {
	body := new(methods.PbmUpdateBody)
	body.Fault_ = m.policies.with(ctx, func() *soap.Fault {
		is := m.policies.profiles.byID[r.ProfileId.UniqueId]
		if is == nil || is.ProfileCategory == resource {
			return wrong("profileId")
		}
		if other := m.policies.profiles.named(r.UpdateSpec.Name); other != nil && other != is {
			return simulator.Fault("", &pbm.PbmDuplicateName{Name: r.UpdateSpec.Name})
		}
		p := *is
		if r.UpdateSpec.Name != "" {
			p.Name = r.UpdateSpec.Name
		}
		if r.UpdateSpec.Description != "" {
			p.Description = r.UpdateSpec.Description
		}
		if r.UpdateSpec.Constraints != nil {
			p.Constraints = r.UpdateSpec.Constraints
			p.GenerationId++
		}
		p.LastUpdatedTime, p.LastUpdatedBy = m.policies.options.Now(), user(ctx)
		if fault := m.policies.publish(&p); fault != nil {
			return fault
		}
		if p.GenerationId != is.GenerationId {
			judgeUsers(m.policies, p.ProfileId.UniqueId)
		}
		body.Res = &pbm.PbmUpdateResponse{}
		return nil
	})
	return body
}

// judgeUsers records the status of the VMs with a policy.
func judgeUsers(d *PolicyManager, profile string) {
	now := d.options.Now()
	for vm, given := range d.given {
		for _, a := range given {
			if a.profile == profile {
				d.judge(vm, now)
				break
			}
		}
	}
}

// PbmDelete removes unused profiles.
func (m *manager) PbmDelete(ctx *simulator.Context, r *pbm.PbmDelete) soap.HasFault {
	body := new(methods.PbmDeleteBody)
	body.Fault_ = m.policies.with(ctx, func() *soap.Fault {
		body.Res = &pbm.PbmDeleteResponse{}
		for _, id := range r.ProfileId {
			var fault types.BaseMethodFault
			p := m.policies.profiles.byID[id.UniqueId]
			switch {
			case p == nil || p.ProfileCategory == resource:
				fault = &types.InvalidArgument{InvalidProperty: "profileId"}
			case len(m.policies.users(id.UniqueId, "")) > 0:
				fault = &pbm.PbmResourceInUse{Name: p.Name}
			default:
				m.policies.profiles.remove(id.UniqueId)
				m.policies.checker.RemovePolicy(id.UniqueId)
				continue
			}
			body.Res.Returnval = append(body.Res.Returnval, pbm.PbmProfileOperationOutcome{
				ProfileId: id, Fault: &types.LocalizedMethodFault{Fault: fault, LocalizedMessage: refusal(fault)},
			})
		}
		return nil
	})
	return body
}

func refusal(fault types.BaseMethodFault) string {
	if in, ok := fault.(*pbm.PbmResourceInUse); ok {
		return "the storage policy " + in.Name + " is in use"
	}
	return "there is no such storage policy"
}

// PbmQueryIOFiltersFromProfileId lists the filters that profiles require: one for encryption.
func (m *manager) PbmQueryIOFiltersFromProfileId(r *pbm.PbmQueryIOFiltersFromProfileId) soap.HasFault {
	body := &methods.PbmQueryIOFiltersFromProfileIdBody{}
	original, ok := builtin().(*stock.ProfileManager)
	m.policies.m.Lock()
	defer m.policies.m.Unlock()
	res := &pbm.PbmQueryIOFiltersFromProfileIdResponse{}
	for _, id := range r.ProfileIds {
		if m.policies.profiles.byID[id.UniqueId] == nil {
			body.Fault_ = simulator.Fault("Invalid profile ID", &types.RuntimeFault{})
			return body
		}
		one := pbm.PbmProfileToIofilterMap{Key: id}
		if ok {
			asked := &pbm.PbmQueryIOFiltersFromProfileId{ProfileIds: []pbm.PbmProfileId{id}}
			if known := original.PbmQueryIOFiltersFromProfileId(asked).(*methods.PbmQueryIOFiltersFromProfileIdBody); known.Res != nil {
				one = known.Res.Returnval[0]
			}
		}
		res.Returnval = append(res.Returnval, one)
	}
	body.Res = res
	return body
}

// PbmResolveK8sCompliantNames adds the names of late binding.
func (m *manager) PbmResolveK8sCompliantNames(*pbm.PbmResolveK8sCompliantNames) soap.HasFault {
	m.policies.m.Lock()
	defer m.policies.m.Unlock()
	for _, is := range slices.Clone(m.policies.profiles.list) {
		p := *is
		p.OtherK8sCompliantNames = append(slices.Clone(p.OtherK8sCompliantNames), p.K8sCompliantName+"-latebinding")
		m.policies.profiles.put(&p)
	}
	return &methods.PbmResolveK8sCompliantNamesBody{Res: &pbm.PbmResolveK8sCompliantNamesResponse{}}
}

// PbmUpdateK8sCompliantNames sets the names of a profile.
func (m *manager) PbmUpdateK8sCompliantNames(r *pbm.PbmUpdateK8sCompliantNames) soap.HasFault {
	body := new(methods.PbmUpdateK8sCompliantNamesBody)
	m.policies.m.Lock()
	defer m.policies.m.Unlock()
	spec := &r.K8sCompliantNameSpec
	is := m.policies.profiles.byID[spec.ProfileId]
	switch {
	case is == nil:
	case is.K8sCompliantName != "" && is.K8sCompliantName != spec.K8sCompliantName:
		body.Fault_ = simulator.Fault("Invalid Argument", &types.RuntimeFault{})
		return body
	case slices.Contains(spec.OtherK8sCompliantNames, spec.K8sCompliantName):
		body.Fault_ = simulator.Fault("Duplicate Name", &types.RuntimeFault{})
		return body
	default:
		p := *is
		p.K8sCompliantName, p.OtherK8sCompliantNames = spec.K8sCompliantName, spec.OtherK8sCompliantNames
		m.policies.profiles.put(&p)
	}
	body.Res = &pbm.PbmUpdateK8sCompliantNamesResponse{}
	return body
}
