package guest

import (
	"context"
	"fmt"

	"plimsoll/internal/factor"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/parameter"
)

func memoryFactor() factor.Factor {
	return part{
		check: func(_ *machine, level string) (string, error) {
			var size parameter.Bytes
			err := size.UnmarshalText([]byte(level))
			return size.String(), err
		},
		see: func(ctx context.Context, m *machine) (string, error) {
			far, err := m.up(ctx)
			if err != nil {
				return "", err
			}
			text, err := far.ReadFile(ctx, "/proc/meminfo")
			if err != nil {
				return "", fmt.Errorf("read the guest's memory: %w", err)
			}
			return m.memory(string(text))
		},
		set: func(s *Settings, level string) error {
			if err := s.Memory.UnmarshalText([]byte(level)); err != nil {
				return fmt.Errorf("%q: want %w", level, err)
			}
			return nil
		},
	}.factor(factor.Factor{Name: "guest.memory", Doc: "memory of a guest", Example: []string{"256MiB", "1GiB"}})
}

// memory is the size of memory that a guest was given, where what its kernel has of it is
// not less than four fifths: a kernel keeps a part for itself before it counts.
func (m *machine) memory(meminfo string) (string, error) {
	var total int64
	if _, err := fmt.Sscanf(meminfo, "MemTotal: %d kB", &total); err != nil {
		return "", fmt.Errorf("read the guest's memory: /proc/meminfo begins with %.40q", meminfo)
	}
	given := m.wanted().Memory
	if has := parameter.Bytes(total << 10); has > given || has < given/5*3 {
		return has.String(), nil
	}
	return given.String(), nil
}

// hugePages are the sizes of pages of the host, by the setting.
var hugePages = map[string]int64{"": 0, "none": 0, "2MiB": 2 << 20, "1GiB": 1 << 30}

func hugePagesFactor() factor.Factor {
	return part{
		canon: func(s Settings) string { return s.HugePages },
		see: one(func(_ context.Context, r live) (string, error) {
			size, err := r.vm.HugePage()
			for name, of := range hugePages {
				if of == size && name != "" {
					return name, err
				}
			}
			return parameter.Bytes(size).String(), err
		}),
		set: among("size of huge pages", func(s *Settings) *string { return &s.HugePages }, "none", "2MiB", "1GiB"),
	}.factor(factor.Factor{
		Name: "guest.huge_pages", Example: []string{"none", "2MiB"},
		Doc: "host huge pages that back guest memory: none, 2MiB or 1GiB; read back from QEMU's mappings on the host",
	})
}

func hostNodesFactor() factor.Factor {
	canonical := func(s Settings) string {
		nodes, err := s.hosts()
		if err != nil || len(nodes) == 0 {
			return free
		}
		return qemu.ListOf(nodes)
	}
	return part{
		canon: canonical,
		see: one(func(_ context.Context, r live) (string, error) {
			nodes, err := r.vm.HostNodes()
			if nodes == "" {
				nodes = free
			}
			return nodes, err
		}),
		set: func(s *Settings, level string) error {
			s.HostNodes = level
			_, err := s.hosts()
			return err
		},
	}.factor(factor.Factor{
		Name: "guest.host_nodes", Example: []string{"none", "0"},
		Doc: "host NUMA nodes of guest memory: none, or a list such as 0-1; read back from QEMU's mappings on the host",
	})
}
