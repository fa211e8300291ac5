package sim_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/replica"
)

func wholeSpec() types.VirtualMachineConfigSpec {
	changed := time.Unix(1, 2)
	return types.VirtualMachineConfigSpec{
		Name: "web", NumCPUs: 4, CreateDate: &changed, Files: &types.VirtualMachineFileInfo{VmPathName: "[store] web/web.vmx"},
		CpuAffinity: &types.VirtualMachineAffinityInfo{AffinitySet: []int32{1, 2}},
		ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "a", Value: "b"}, nil},
		DeviceChange: []types.BaseVirtualDeviceConfigSpec{&types.VirtualDeviceConfigSpec{Device: &types.VirtualDisk{
			VirtualDevice: types.VirtualDevice{Key: 2000, Backing: &types.VirtualDiskFlatVer2BackingInfo{DiskMode: "persistent", Split: types.NewBool(true)}},
		}}},
	}
}

func TestReplicaSharesNothing(t *testing.T) {
	t.Parallel()
	of := wholeSpec()
	made := replica.Of(of)
	if !reflect.DeepEqual(made, of) {
		t.Fatalf("%+v is not %+v", made, of)
	}
	made.Files.VmPathName, made.CpuAffinity.AffinitySet[0] = "other", 9
	made.ExtraConfig[0].GetOptionValue().Value = "c"
	made.DeviceChange[0].GetVirtualDeviceConfigSpec().Device.GetVirtualDevice().Key = 1
	*made.CreateDate = time.Unix(5, 0)
	if !reflect.DeepEqual(of, wholeSpec()) {
		t.Errorf("the original has changed: %+v", of)
	}
}

func TestReplicaIsRenamedEverywhere(t *testing.T) {
	t.Parallel()
	of := wholeSpec()
	var texts, renamed []string
	replica.Texts(of, func(s string) { texts = append(texts, s) })
	replica.Texts(replica.Renamed(of, func(s string) string { return s + "!" }), func(s string) { renamed = append(renamed, s) })
	for _, want := range []string{"web", "[store] web/web.vmx", "a", "b", "persistent"} {
		if !slices.Contains(texts, want) || !slices.Contains(renamed, want+"!") {
			t.Errorf("%q is not in %q, or not renamed in %q", want, texts, renamed)
		}
	}
	if len(texts) != len(renamed) || !reflect.DeepEqual(of, wholeSpec()) {
		t.Errorf("%d texts became %d, or the original has changed: %+v", len(texts), len(renamed), of)
	}
}
