package vm

import (
	"context"
	"fmt"

	"plimsoll/internal/factor"
	"plimsoll/internal/guest/provision"
	"plimsoll/internal/guest/spec"
)

func fabric() factor.Factor {
	return setting{
		ownQEMU:   true,
		canonical: func(g spec.Guest) string { return g.Fabric },
		read:      readFabric,
		set:       oneOf("fabric", func(g *spec.Guest) *string { return &g.Fabric }, spec.Unset, spec.OverTCP, spec.OverRDMA),
	}.factor(factor.Factor{
		Name: "guest.fabric", Example: []string{spec.OverTCP, spec.OverRDMA},
		Doc: "fabric between a guest and its disk, which another guest exports: none, tcp (NVMe over TCP) or rdma (NVMe over RDMA, by soft-RoCE); read back from both guests",
		Caution: func(level string) string {
			if level != spec.OverRDMA {
				return ""
			}
			return spec.SoftRoCE
		},
	})
}

// readFabric reads the fabric of the disk that workloads write to from the kernels of both of its ends.
func readFabric(ctx context.Context, r spec.Running) (string, error) {
	here, err := provision.FabricOf(ctx, r.Agent, scratch)
	if err != nil || r.Target == nil {
		return here, err
	}
	there, err := provision.ExportedOver(ctx, r.Target.Agent)
	if err == nil && there != here {
		return fmt.Sprintf("%s here, and %s at the guest that exports the disk", here, there), nil
	}
	return here, err
}
