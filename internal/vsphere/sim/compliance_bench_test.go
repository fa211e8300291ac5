package sim_test

import (
	"context"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/pbm"
	"github.com/vmware/govmomi/pbm/methods"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/generate"
	"plimsoll/internal/vsphere/sim"
)

// BenchmarkCompliance is a check of one VM of 8,000 that has changed, over HTTPS.
func BenchmarkCompliance(b *testing.B) {
	for name, full := range map[string]bool{"incremental": false, "full": true} {
		b.Run(name, func(b *testing.B) {
			c := lab(64, 8000)
			s, err := sim.Start(b.Context(), sim.Options{
				Clusters: []*cluster.Cluster{c}, Storage: generate.Storage(c, 20), FullChecks: full,
				Listen: "127.0.0.1:0", User: "operator", Password: "secret", Folder: b.TempDir(),
			})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			d := &bed{b, connect(b, s), context.Background()}
			p, err := pbm.NewClient(d.ctx, d.Client.Client)
			if err != nil {
				b.Fatal(err)
			}
			id, err := p.ProfileIDByName(d.ctx, "policy-7")
			if err != nil {
				b.Fatal(err)
			}
			vm := d.vm(c.VMs[6].Name)
			entity := pbmtypes.PbmServerObjectRef{ObjectType: "virtualMachine", Key: vm.Reference().Value}
			check := func() {
				_, err := methods.PbmCheckRollupCompliance(d.ctx, p, &pbmtypes.PbmCheckRollupCompliance{This: p.ServiceContent.ComplianceManager, Entity: []pbmtypes.PbmServerObjectRef{entity}})
				if err != nil {
					b.Fatal(err)
				}
			}
			check()
			apply := types.VirtualMachineConfigSpec{VmProfile: []types.BaseVirtualMachineProfileSpec{&types.VirtualMachineDefinedProfileSpec{ProfileId: id}}}
			for b.Loop() {
				b.StopTimer()
				d.done(object.NewVirtualMachine(d.Client.Client, vm.Reference()).Reconfigure(d.ctx, apply))
				b.StartTimer()
				check()
			}
		})
	}
}
