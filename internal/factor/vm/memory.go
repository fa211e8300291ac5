package vm

import (
	"context"
	"fmt"

	"plimsoll/internal/factor"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

func memory() factor.Factor {
	return setting{
		check: func(_ spec.Machine, g spec.Guest, _ string) (string, error) { return g.Memory.String(), nil },
		read: func(ctx context.Context, r spec.Running) (string, error) {
			text, err := r.Agent.ReadFile(ctx, "/proc/meminfo")
			if err != nil {
				return "", fmt.Errorf("read the guest's memory: %w", err)
			}
			return MemoryIn(string(text), r.Spec.Memory)
		},
		set: func(g *spec.Guest, level string) error {
			if err := g.Memory.UnmarshalText([]byte(level)); err != nil {
				return fmt.Errorf("%q: must be %w", level, err)
			}
			return nil
		},
	}.factor(factor.Factor{Name: "guest.memory", Doc: "memory of a guest", Example: []string{"256MiB", "1GiB"}})
}

// MemoryIn returns the configured memory if the kernel has at least three fifths of it:
// kernels reserve a part before they count.
func MemoryIn(meminfo string, configured parameter.Bytes) (string, error) {
	var total int64
	if _, err := fmt.Sscanf(meminfo, "MemTotal: %d kB", &total); err != nil {
		return "", fmt.Errorf("read the guest's memory: /proc/meminfo begins with %.40q", meminfo)
	}
	if has := parameter.Bytes(total << 10); has > configured || has < configured/5*3 {
		return has.String(), nil
	}
	return configured.String(), nil
}

func hugePages() factor.Factor {
	return setting{
		ownQEMU:   true,
		canonical: func(g spec.Guest) string { return g.HugePages },
		read: func(_ context.Context, r spec.Running) (string, error) {
			size, err := r.QEMU.HugePage()
			for name, of := range spec.HugePages {
				if of == size && name != "" {
					return name, err
				}
			}
			return parameter.Bytes(size).String(), err
		},
		set: oneOf("size of huge pages", func(g *spec.Guest) *string { return &g.HugePages }, spec.Unset, "2MiB", "1GiB"),
	}.factor(factor.Factor{
		Name: "guest.huge_pages", Example: []string{"none", "2MiB"},
		Doc: "host huge pages that back guest memory: none, 2MiB or 1GiB; read back from QEMU's mappings on the host",
	})
}

func hostNodes() factor.Factor {
	return setting{
		ownQEMU: true,
		canonical: func(g spec.Guest) string {
			list, err := g.HostNodeList()
			if err != nil || len(list) == 0 {
				return spec.Unset
			}
			return platform.CPUsOf(list).String()
		},
		read: func(_ context.Context, r spec.Running) (string, error) {
			list, err := r.QEMU.HostNodes()
			if list == "" {
				list = spec.Unset
			}
			return list, err
		},
		set: func(g *spec.Guest, level string) error {
			g.HostNodes = level
			_, err := g.HostNodeList()
			return err
		},
	}.factor(factor.Factor{
		Name: "guest.host_nodes", Example: []string{"none", "0"},
		Doc: "host NUMA nodes of guest memory: none, or a list such as 0-1; read back from QEMU's mappings on the host",
	})
}
