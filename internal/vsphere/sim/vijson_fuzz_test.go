package sim_test

import (
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/vijson"
)

func FuzzArguments(f *testing.F) {
	f.Add([]byte(`{"spec": {"_typeName": "VirtualMachineConfigSpec", "numCPUs": 4, "deviceChange": [{"_typeName": "VirtualDeviceConfigSpec", "device": {"_typeName": "VirtualDisk", "key": 1}}]}}`))
	f.Add([]byte(`{"spec": {"extraConfig": [{"_typeName": "OptionValue", "key": "a", "value": {"_typeName": "string", "_value": "b"}}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var r types.ReconfigVM_Task
		if vijson.Decode(text, &r) != nil {
			return
		}
		if _, err := vijson.Encode(r.Spec); err != nil {
			t.Errorf("%q is read and cannot be written: %v", text, err)
		}
	})
}
