package storage

import (
	"cmp"
	"slices"
	"time"

	"github.com/vmware/govmomi/pbm/methods"
	pbm "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster/policy"
	"plimsoll/internal/vsphere/capability"
	"plimsoll/internal/vsphere/sim/shadow"
)

// mostEntities is the maximum number of entities in a call.
const mostEntities = 1000

// compliance is the compliance manager.
type compliance struct {
	types.ManagedObjectReference
	shadow.Unlocked
	policies *PolicyManager
}

// PbmCheckCompliance checks entities.
func (c *compliance) PbmCheckCompliance(ctx *simulator.Context, r *pbm.PbmCheckCompliance) soap.HasFault {
	body := new(methods.PbmCheckComplianceBody)
	body.Fault_ = c.policies.with(ctx, func() *soap.Fault {
		list, fault := c.policies.results(r.Entities, true)
		body.Res = &pbm.PbmCheckComplianceResponse{Returnval: list}
		return fault
	})
	return body
}

// PbmFetchComplianceResult reads the results of the last checks.
func (c *compliance) PbmFetchComplianceResult(ctx *simulator.Context, r *pbm.PbmFetchComplianceResult) soap.HasFault {
	body := new(methods.PbmFetchComplianceResultBody)
	body.Fault_ = c.policies.with(ctx, func() *soap.Fault {
		list, fault := c.policies.results(r.Entities, false)
		body.Res = &pbm.PbmFetchComplianceResultResponse{Returnval: list}
		return fault
	})
	return body
}

// PbmCheckRollupCompliance checks VMs with their disks.
func (c *compliance) PbmCheckRollupCompliance(ctx *simulator.Context, r *pbm.PbmCheckRollupCompliance) soap.HasFault {
	body := new(methods.PbmCheckRollupComplianceBody)
	body.Fault_ = c.policies.with(ctx, func() *soap.Fault {
		list, fault := c.policies.rollUps(r.Entity, true)
		body.Res = &pbm.PbmCheckRollupComplianceResponse{Returnval: list}
		return fault
	})
	return body
}

// PbmFetchRollupComplianceResult reads the results of the last checks of VMs with their disks.
func (c *compliance) PbmFetchRollupComplianceResult(ctx *simulator.Context, r *pbm.PbmFetchRollupComplianceResult) soap.HasFault {
	body := new(methods.PbmFetchRollupComplianceResultBody)
	body.Fault_ = c.policies.with(ctx, func() *soap.Fault {
		list, fault := c.policies.rollUps(r.Entity, false)
		body.Res = &pbm.PbmFetchRollupComplianceResultResponse{Returnval: list}
		return fault
	})
	return body
}

// PbmQueryByRollupComplianceStatus lists the VMs with a status.
func (c *compliance) PbmQueryByRollupComplianceStatus(ctx *simulator.Context, r *pbm.PbmQueryByRollupComplianceStatus) soap.HasFault {
	body := new(methods.PbmQueryByRollupComplianceStatusBody)
	var asked policy.Status
	if asked.UnmarshalText([]byte(r.Status)) != nil {
		body.Fault_ = wrong("status")
		return body
	}
	body.Fault_ = c.policies.with(ctx, func() *soap.Fault {
		body.Res = &pbm.PbmQueryByRollupComplianceStatusResponse{}
		for vm, results := range c.policies.checked {
			var list []policy.Status
			for _, r := range results {
				list = append(list, r.Status)
			}
			if overall(list) == asked {
				body.Res.Returnval = append(body.Res.Returnval, reference(vm, ""))
			}
		}
		slices.SortFunc(body.Res.Returnval, func(a, b pbm.PbmServerObjectRef) int { return cmp.Compare(a.Key, b.Key) })
		return nil
	})
	return body
}

// results are those of entities, after a check if requested. Entities that do not exist and
// objects without a policy are skipped.
func (d *PolicyManager) results(entities []pbm.PbmServerObjectRef, check bool) (list []pbm.PbmComplianceResult, fault *soap.Fault) {
	if len(entities) == 0 || len(entities) > mostEntities {
		return nil, wrong("entities")
	}
	now, valid := d.options.Now(), false
	for _, e := range entities {
		vm, keys := d.objects(e)
		valid = valid || len(keys) > 0
		if check && len(keys) > 0 {
			d.judgeSome(vm, keys, now)
		}
		for _, k := range keys {
			if j, has := d.checked[vm][k]; has {
				list = append(list, d.result(vm, j))
			}
		}
	}
	if !valid {
		return nil, wrong("entities")
	}
	return list, nil
}

// judgeSome records the results of a check of some objects of a VM.
func (d *PolicyManager) judgeSome(vm string, keys []string, at time.Time) {
	is, _ := d.checker.VM(vm)
	for _, o := range is.Objects {
		if o.Policy != "" && slices.Contains(keys, o.Name) {
			if d.checked[vm] == nil {
				d.checked[vm] = map[string]judgement{}
			}
			d.checked[vm][o.Name] = judgement{at, o}
		}
	}
}

// result is the result of a check in the form of the API.
func (d *PolicyManager) result(vm string, j judgement) pbm.PbmComplianceResult {
	r := pbm.PbmComplianceResult{
		CheckTime: j.at, Entity: reference(vm, j.Name), Profile: &pbm.PbmProfileId{UniqueId: j.Policy}, ComplianceStatus: j.Status.String(),
		ComplianceTaskStatus: string(pbm.PbmComplianceResultComplianceTaskStatusSuccess), Mismatch: j.Status == policy.OutOfDate,
	}
	p := d.profiles.byID[j.Policy]
	if j.Status != policy.NonCompliant || p == nil {
		return r
	}
	asked, store := parts(p), d.stores[j.Datastore]
	for _, miss := range j.Misses {
		if is, has := asked[miss.Capability]; has && !miss.Undecided {
			r.ViolatedPolicies = append(r.ViolatedPolicies, pbm.PbmCompliancePolicyStatus{ExpectedValue: is, CurrentValue: offered(&store, miss.Capability)})
		}
	}
	return r
}

// offered is the offer of a datastore for a capability; nil if it has none.
func offered(d *policy.Datastore, name string) *pbm.PbmCapabilityInstance {
	for i := range d.Capabilities {
		if d.Capabilities[i].Name == name {
			is := capability.Instance(name, &d.Capabilities[i].Value)
			return &is
		}
	}
	for category, tags := range d.Tags {
		if "tag."+category == name {
			is := capability.Instance(name, &policy.Value{Set: tags})
			return &is
		}
	}
	return nil
}

// rollUps are the results of VMs with their disks.
func (d *PolicyManager) rollUps(entities []pbm.PbmServerObjectRef, check bool) (list []pbm.PbmRollupComplianceResult, fault *soap.Fault) {
	if len(entities) == 0 || len(entities) > mostEntities {
		return nil, wrong("entity")
	}
	for _, e := range entities {
		if e.ObjectType != entityVM && e.ObjectType != entityAll {
			return nil, wrong("entity")
		}
		all := pbm.PbmServerObjectRef{ObjectType: entityAll, Key: e.Key}
		results, fault := d.results([]pbm.PbmServerObjectRef{all}, check)
		if fault != nil {
			continue // it does not exist
		}
		r := pbm.PbmRollupComplianceResult{Entity: e, OldestCheckTime: d.options.Now(), OverallComplianceTaskStatus: string(pbm.PbmComplianceResultComplianceTaskStatusSuccess), Result: results}
		var statuses []policy.Status
		for _, one := range results {
			var s policy.Status
			_ = s.UnmarshalText([]byte(one.ComplianceStatus)) // always valid
			statuses = append(statuses, s)
			r.ProfileMismatch = r.ProfileMismatch || one.Mismatch
			if one.CheckTime.Before(r.OldestCheckTime) {
				r.OldestCheckTime = one.CheckTime
			}
		}
		r.OverallComplianceStatus = overall(statuses).String()
		list = append(list, r)
	}
	if list == nil {
		return nil, wrong("entity")
	}
	return list, nil
}

// overall is the status of a VM by those of its objects, in vSphere's order, which differs
// from the checker's.
func overall(list []policy.Status) policy.Status {
	for _, s := range []policy.Status{policy.OutOfDate, policy.NonCompliant, policy.Unknown, policy.NotApplicable} {
		if slices.Contains(list, s) {
			return s
		}
	}
	if len(list) == 0 {
		return policy.NotApplicable
	}
	return policy.Compliant
}
