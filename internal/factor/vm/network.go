package vm

import (
	"context"

	"plimsoll/internal/factor"
	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/provision"
	"plimsoll/internal/guest/spec"
)

func nic() factor.Factor {
	return setting{
		check: func(_ spec.Machine, g spec.Guest, level string) (string, error) { return level, g.Networked() },
		read: func(ctx context.Context, r spec.Running) (string, error) {
			if err := r.Spec.Networked(); err != nil {
				return "", err
			}
			return provision.Card(ctx, r.Agent)
		},
		set: oneOf("network card", func(g *spec.Guest) *string { return &g.NIC }, string(hardware.VirtioNet), string(hardware.VMXNet3), string(hardware.E1000e)),
	}.factor(factor.Factor{Name: "guest.nic", Doc: "network adapter of a guest: virtio-net, vmxnet3 or e1000e; not on libvirt", Example: []string{"virtio-net", "vmxnet3"}})
}
