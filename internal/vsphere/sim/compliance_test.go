package sim_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/pbm"
	"github.com/vmware/govmomi/pbm/methods"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"net/url"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/policy"
	"plimsoll/internal/difftest"
	"plimsoll/internal/effort"
	"plimsoll/internal/live"
	"plimsoll/internal/vsphere/sim"
)

// policies is a simulator with storage policies and clients of its interfaces.
type policies struct {
	*bed
	live   live.Connection
	pbm    *pbm.Client
	tags   *tags.Manager
	stores []mo.Datastore
}

func newDesk(t *testing.T, seed uint64, vms int, full bool) *policies {
	t.Helper()
	c, inv := stored(seed, vms)
	s, connection := connected(t, sim.Options{Clusters: []*cluster.Cluster{c}, Storage: inv, FullChecks: full})
	d := &policies{bed: &bed{t, connect(t, s), context.Background()}, live: connection}
	var err error
	if d.pbm, err = pbm.NewClient(t.Context(), d.Client.Client); err != nil {
		t.Fatal(err)
	}
	rc := rest.NewClient(d.Client.Client)
	if err := rc.Login(t.Context(), url.UserPassword("operator", "secret")); err != nil {
		t.Fatal(err)
	}
	d.tags = tags.NewManager(rc)
	all(t, d.Client, "Datastore", []string{"name"}, &d.stores)
	slices.SortFunc(d.stores, func(a, b mo.Datastore) int {
		return len(a.Name)*100 + int(a.Name[len(a.Name)-1]) - len(b.Name)*100 - int(b.Name[len(b.Name)-1])
	})
	return d
}

// id is the identifier of a policy.
func (d *policies) id(name string) string {
	d.Helper()
	id, err := d.pbm.ProfileIDByName(context.Background(), name)
	if err != nil {
		d.Fatal(err)
	}
	return id
}

func (d *policies) spec(name string) []types.BaseVirtualMachineProfileSpec {
	if name == "" {
		return []types.BaseVirtualMachineProfileSpec{&types.VirtualMachineEmptyProfileSpec{}}
	}
	return []types.BaseVirtualMachineProfileSpec{&types.VirtualMachineDefinedProfileSpec{ProfileId: d.id(name)}}
}

// machines are the VMs in the order of their names.
func (d *policies) machines() []mo.VirtualMachine {
	var list []mo.VirtualMachine
	all(d, d.Client, "VirtualMachine", []string{"name", "config.hardware.device", "runtime.powerState"}, &list)
	slices.SortFunc(list, func(a, b mo.VirtualMachine) int { return slices.Compare([]string{a.Name}, []string{b.Name}) })
	return list
}

func disksOf(v *mo.VirtualMachine) []types.BaseVirtualDevice {
	return object.VirtualDeviceList(v.Config.Hardware.Device).SelectByType((*types.VirtualDisk)(nil))
}

// check asks for all homes and disks.
func (d *policies) check() map[string]pbmtypes.PbmComplianceResult {
	d.Helper()
	var refs []pbmtypes.PbmServerObjectRef
	for _, v := range d.machines() {
		refs = append(refs, pbmtypes.PbmServerObjectRef{ObjectType: "virtualMachineAndDisks", Key: v.Self.Value})
	}
	return d.checked(refs...)
}

func (d *policies) checked(refs ...pbmtypes.PbmServerObjectRef) map[string]pbmtypes.PbmComplianceResult {
	d.Helper()
	res, err := methods.PbmCheckCompliance(context.Background(), d.pbm, &pbmtypes.PbmCheckCompliance{This: d.pbm.ServiceContent.ComplianceManager, Entities: refs})
	if err != nil {
		d.Fatal(err)
	}
	made := map[string]pbmtypes.PbmComplianceResult{}
	for _, r := range res.Returnval {
		made[r.Entity.Key] = r
	}
	return made
}

func (d *policies) roll(v types.ManagedObjectReference) pbmtypes.PbmRollupComplianceResult {
	d.Helper()
	res, err := methods.PbmCheckRollupCompliance(context.Background(), d.pbm, &pbmtypes.PbmCheckRollupCompliance{
		This: d.pbm.ServiceContent.ComplianceManager, Entity: []pbmtypes.PbmServerObjectRef{{ObjectType: "virtualMachine", Key: v.Value}},
	})
	if err != nil {
		d.Fatal(err)
	}
	return res.Returnval[0]
}

// update changes what a policy asks.
func (d *policies) update(name string, capabilities ...pbm.Capability) {
	d.Helper()
	spec, err := pbm.CreateCapabilityProfileSpec(pbm.CapabilityProfileCreateSpec{Name: name, Category: "REQUIREMENT", CapabilityList: capabilities})
	if err == nil {
		err = d.pbm.UpdateProfile(context.Background(), pbmtypes.PbmProfileId{UniqueId: d.id(name)}, pbmtypes.PbmCapabilityProfileUpdateSpec{Constraints: spec.Constraints})
	}
	if err != nil {
		d.Fatal(err)
	}
}

// tagged asks for a tag of the category tier.
func tagged(tag string) pbm.Capability {
	return pbm.Capability{ID: "tier", Namespace: "http://www.vmware.com/storage/tag", PropertyList: []pbm.Property{{ID: "com.vmware.storage.tag.tier.property", Value: tag, DataType: "set"}}}
}

func (d *policies) create(name string, capabilities ...pbm.Capability) error {
	d.Helper()
	spec, err := pbm.CreateCapabilityProfileSpec(pbm.CapabilityProfileCreateSpec{Name: name, Category: "REQUIREMENT", CapabilityList: capabilities})
	if err != nil {
		d.Fatal(err)
	}
	_, err = d.pbm.CreateProfile(context.Background(), *spec)
	return err
}

// The life of a policy: created, given to a VM, kept, broken by a tag that goes, changed, applied again,
// and deleted when nothing has it.
func TestLifeOfAPolicy(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 3, 12, false)
	ctx := t.Context()
	if err := d.create("silver", tagged("silver")); err != nil {
		t.Fatal(err)
	}
	if err := d.create("silver", tagged("silver")); !isFault[*pbmtypes.PbmDuplicateName](err) {
		t.Errorf("a second policy of the name: %v", err)
	}
	v := d.machines()[0]
	vm := object.NewVirtualMachine(d.Client.Client, v.Self)
	at := d.stores[0] // it is tagged gold and silver
	d.done(vm.Relocate(ctx, types.VirtualMachineRelocateSpec{Datastore: &at.Self, Profile: d.spec("silver")}, types.VirtualMachineMovePriorityDefaultPriority))
	for _, disk := range disksOf(&v) {
		edit := &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: disk, Profile: d.spec("silver")}
		edit.Device = disksOf(ptr(d.see(vm)))[slices.Index(disksOf(&v), disk)]
		d.done(vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{DeviceChange: []types.BaseVirtualDeviceConfigSpec{edit}}))
	}
	expect := func(what, want string) pbmtypes.PbmRollupComplianceResult {
		t.Helper()
		r := d.roll(v.Self)
		if r.OverallComplianceStatus != want || len(r.Result) != 1+len(disksOf(&v)) {
			t.Fatalf("%s: %s of %d objects, want %s of %d", what, r.OverallComplianceStatus, len(r.Result), want, 1+len(disksOf(&v)))
		}
		return r
	}
	expect("on a datastore with the tag", "compliant")
	tag, err := d.tags.GetTagForCategory(ctx, "silver", "tier")
	if err == nil {
		err = d.tags.DetachTag(ctx, tag.ID, at.Self)
	}
	if err != nil {
		t.Fatal(err)
	}
	home := pbmtypes.PbmServerObjectRef{ObjectType: "virtualMachine", Key: v.Self.Value}
	before, err := d.pbm.FetchComplianceResult(ctx, []pbmtypes.PbmServerObjectRef{home})
	if err != nil || len(before) != 1 || before[0].ComplianceStatus != "compliant" {
		t.Errorf("the result of the last check is %+v, %v", before, err)
	}
	r := expect("the tag is gone", "nonCompliant")
	bad := r.Result[0].ViolatedPolicies
	if len(bad) != 1 || bad[0].ExpectedValue.Id.Id != "tier" || bad[0].CurrentValue == nil {
		t.Errorf("violated: %+v", bad)
	}
	after, err := d.pbm.FetchComplianceResult(ctx, []pbmtypes.PbmServerObjectRef{home})
	if err != nil || after[0].ComplianceStatus != "nonCompliant" || !after[0].CheckTime.After(before[0].CheckTime) {
		t.Errorf("fetched after the check: %+v, %v", after, err)
	}
	d.update("silver", tagged("gold"))
	if r := expect("the policy has changed", "outOfDate"); !r.ProfileMismatch {
		t.Error("a policy that is out of date is no mismatch")
	}
	list, err := d.pbm.DeleteProfile(ctx, []pbmtypes.PbmProfileId{{UniqueId: d.id("silver")}})
	if err != nil || len(list) != 1 || !isKind[*pbmtypes.PbmResourceInUse](list[0].Fault.Fault) {
		t.Errorf("deletion of a policy in use: %+v, %v", list, err)
	}
	d.done(vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{VmProfile: d.spec("silver")}))
	if r := d.roll(v.Self); r.Result[0].ComplianceStatus != "compliant" || r.OverallComplianceStatus != "outOfDate" {
		t.Errorf("applied to the home again: %+v", r)
	}
	d.destroyed(vm, v.Runtime.PowerState)
	if list, err := d.pbm.DeleteProfile(ctx, []pbmtypes.PbmProfileId{{UniqueId: d.id("silver")}}); err != nil || len(list) != 0 {
		t.Errorf("deletion: %+v, %v", list, err)
	}
	if _, err := d.pbm.FetchComplianceResult(ctx, []pbmtypes.PbmServerObjectRef{home}); !fault.Is(err, &types.InvalidArgument{}) {
		t.Errorf("a VM that is gone: %v", err)
	}
}

func ptr[T any](v T) *T { return &v }

func isKind[F any](f any) bool { _, ok := f.(F); return ok }

// isFault reports whether a call ended with a fault of a type.
func isFault[F any](err error) bool {
	found := false
	fault.In(err, func(f types.BaseMethodFault, _ string, _ []types.LocalizableMessage) bool {
		found = found || isKind[F](f)
		return found
	})
	return found
}

func (d *policies) destroyed(vm *object.VirtualMachine, is types.VirtualMachinePowerState) {
	d.Helper()
	if is == types.VirtualMachinePowerStatePoweredOn {
		d.done(vm.PowerOff(context.Background()))
	}
	d.done(vm.Destroy(context.Background()))
}

// What vSphere's interface refuses.
func TestRefusedPolicies(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 3, 4, false)
	ctx := t.Context()
	v := d.machines()[0]
	vm := object.NewVirtualMachine(d.Client.Client, v.Self)
	ghost := []types.BaseVirtualMachineProfileSpec{&types.VirtualMachineDefinedProfileSpec{ProfileId: "ghost"}}
	if _, err := vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{VmProfile: ghost}); !fault.Is(err, &types.InvalidArgument{}) {
		t.Errorf("a policy that does not exist: %v", err)
	}
	entity := pbmtypes.PbmServerObjectRef{ObjectType: "virtualMachine", Key: v.Self.Value}
	for what, refs := range map[string][]pbmtypes.PbmServerObjectRef{
		"none": nil, "too many": slices.Repeat([]pbmtypes.PbmServerObjectRef{entity}, 1001), "a datastore": {{ObjectType: "datastore", Key: d.stores[0].Self.Value}},
		"no disk": {{ObjectType: "virtualDiskId", Key: v.Self.Value + ":77"}},
	} {
		if _, err := d.pbm.FetchComplianceResult(ctx, refs); !fault.Is(err, &types.InvalidArgument{}) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := d.pbm.UpdateProfile(ctx, pbmtypes.PbmProfileId{UniqueId: "ghost"}, pbmtypes.PbmCapabilityProfileUpdateSpec{}); !fault.Is(err, &types.InvalidArgument{}) {
		t.Errorf("update of a policy that does not exist: %v", err)
	}
}

// deed is a random change, made on two simulators alike.
func deed(d *policies, r *rand.Rand, step int) {
	ctx := context.Background()
	names := []string{"any", "gold", "near", ""}
	vms := d.machines()
	v := &vms[r.IntN(len(vms))]
	vm := object.NewVirtualMachine(d.Client.Client, v.Self)
	store := d.stores[r.IntN(len(d.stores))].Self
	profile := d.spec(names[r.IntN(len(names))])
	switch r.IntN(12) {
	case 0:
		d.done(vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{VmProfile: profile}))
	case 1:
		disk := disksOf(v)[r.IntN(len(disksOf(v)))]
		edit := &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: disk, Profile: profile}
		d.done(vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{DeviceChange: []types.BaseVirtualDeviceConfigSpec{edit}}))
	case 2:
		_, _ = d.try(vm.Relocate(ctx, types.VirtualMachineRelocateSpec{Datastore: &store, Profile: profile}, types.VirtualMachineMovePriorityDefaultPriority)) // it may be out of reach
	case 3:
		d.clone(vm, fmt.Sprintf("clone-%d", step), profile)
	case 4:
		if len(vms) > 6 {
			d.destroyed(vm, v.Runtime.PowerState)
		}
	case 5:
		if step%8 == 7 {
			d.update(names[1+r.IntN(2)], tagged([]string{"gold", "silver", "lead"}[r.IntN(3)]))
		}
	case 6:
		tag, err := d.tags.GetTagForCategory(ctx, "silver", "tier")
		if err == nil {
			err = []func(context.Context, string, mo.Reference) error{d.tags.AttachTag, d.tags.DetachTag}[r.IntN(2)](ctx, tag.ID, store)
		}
		if err != nil {
			d.Fatal(err)
		}
	case 7, 8, 9: // the policies stay
		_, _ = d.try(vm.Relocate(ctx, types.VirtualMachineRelocateSpec{Datastore: &store}, types.VirtualMachineMovePriorityDefaultPriority))
	default:
		d.done(vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{DeviceChange: []types.BaseVirtualDeviceConfigSpec{d.newDisk(v, profile)}}))
	}
}

func (d *policies) clone(vm *object.VirtualMachine, name string, profile []types.BaseVirtualMachineProfileSpec) {
	ctx := context.Background()
	var folders []mo.Folder
	all(d, d.Client, "Folder", []string{"name"}, &folders)
	at := slices.IndexFunc(folders, func(f mo.Folder) bool { return f.Name == "vm" })
	d.done(vm.Clone(ctx, object.NewFolder(d.Client.Client, folders[at].Self), name, types.VirtualMachineCloneSpec{Location: types.VirtualMachineRelocateSpec{Profile: profile}}))
}

// newDisk is a disk beside the others.
func (d *policies) newDisk(v *mo.VirtualMachine, profile []types.BaseVirtualMachineProfileSpec) *types.VirtualDeviceConfigSpec {
	devices := object.VirtualDeviceList(v.Config.Hardware.Device)
	controller, err := devices.FindDiskController("")
	if err != nil {
		d.Fatal(err)
	}
	disk := devices.CreateDisk(controller, types.ManagedObjectReference{}, "")
	disk.CapacityInKB = 1 << 10
	return &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, FileOperation: types.VirtualDeviceConfigSpecFileOperationCreate, Device: disk, Profile: profile}
}

// A simulator that follows changes answers as one that judges everything at each question, and as the
// checker does of what the client reads.
func TestFollowingIsJudgingAll(t *testing.T) {
	t.Parallel()
	steps := 10
	if effort.Full() {
		steps = 120
	}
	follows, full := newDesk(t, 2, 24, false), newDesk(t, 2, 24, true)
	seen := map[string]int{}
	for step := range steps {
		deed(follows, rand.New(rand.NewPCG(uint64(step), 1)), step)
		deed(full, rand.New(rand.NewPCG(uint64(step), 1)), step)
		a, b := follows.check(), full.check()
		for _, results := range []map[string]pbmtypes.PbmComplianceResult{a, b} {
			for key, r := range results {
				r.CheckTime, r.Profile = (pbmtypes.PbmComplianceResult{}).CheckTime, nil
				results[key] = r
				seen[r.ComplianceStatus]++
			}
		}
		if lines := difftest.Lines(a, b); lines != "" {
			t.Fatalf("step %d:\n%s", step, lines)
		}
	}
	for _, s := range []string{"compliant", "nonCompliant", "unknown", "outOfDate", "notApplicable"} {
		if seen[s] == 0 {
			t.Errorf("no object was ever %s: %v", s, seen)
		}
	}
	inv, err := follows.live.Policies(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	checker, err := policy.New(inv)
	if err != nil {
		t.Fatal(err)
	}
	checked := follows.check()
	for _, v := range follows.machines() {
		is, found := checker.VM(v.Name)
		if !found || len(is.Objects) != 1+len(disksOf(&v)) {
			t.Fatalf("%s was read as %+v", v.Name, is)
		}
		for i, o := range is.Objects {
			key := v.Self.Value
			if i > 0 {
				key = fmt.Sprintf("%s:%d", key, disksOf(&v)[i-1].GetVirtualDevice().Key)
			}
			if r, has := checked[key]; has != (o.Policy != "") || has && r.ComplianceStatus != o.Status.String() {
				t.Errorf("%s %s: %s by the client, %q by the simulator", v.Name, o.Name, o.Status, r.ComplianceStatus)
			}
		}
	}
}
