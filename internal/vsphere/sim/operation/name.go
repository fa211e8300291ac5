package operation

import (
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/config"
)

// name replaces the name in a call by its stored form: /, \ and % are escaped, unless a %
// begins an escape.
func name(call any) {
	switch r := call.(type) {
	// The handlers of these calls escape the name.
	case *types.CreateVM_Task:
		r.Config.Name = config.Plain(r.Config.Name)
	case *types.ReconfigVM_Task:
		r.Spec.Name = config.Plain(r.Spec.Name)
	case *types.CloneVM_Task:
		r.Name = config.Plain(r.Name)
	case *types.RegisterVM_Task:
		r.Name = config.Plain(r.Name)
	case *types.CreateFolder:
		r.Name = config.Plain(r.Name)
	case *types.ImportVApp:
		if spec, ok := r.Spec.(*types.VirtualMachineImportSpec); ok {
			spec.ConfigSpec.Name = config.Plain(spec.ConfigSpec.Name)
		}
	// The others use it unchanged.
	case *types.Rename_Task:
		r.NewName = stored(r.NewName)
	case *types.RenameDatastore:
		r.NewName = stored(r.NewName)
	case *types.CreateClusterEx:
		r.Name = stored(r.Name)
	case *types.CreateDatacenter:
		r.Name = stored(r.Name)
	case *types.CreateStoragePod:
		r.Name = stored(r.Name)
	case *types.CreateResourcePool:
		r.Name = stored(r.Name)
	case *types.UpdateConfig:
		r.Name = stored(r.Name)
	case *types.CreateDVS_Task:
		if s := r.Spec.ConfigSpec; s != nil {
			s.GetDVSConfigSpec().Name = stored(s.GetDVSConfigSpec().Name)
		}
	case *types.AddDVPortgroup_Task:
		for i := range r.Spec {
			r.Spec[i].Name = stored(r.Spec[i].Name)
		}
	}
}

// stored is a name in vSphere's encoding.
func stored(name string) string { return config.Escape(config.Plain(name)) }
