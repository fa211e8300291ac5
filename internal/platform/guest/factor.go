package guest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"plimsoll/internal/factor"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/guest/view"
	"plimsoll/internal/parameter"
)

// Factors are the parts of a guest's shape that a study may vary. A guest boots anew for
// each change, and what it then sees of itself is what counts.
func Factors() []factor.Factor {
	return []factor.Factor{topologyFactor(), vcpusFactor(), memoryFactor(), controllerFactor(), nicFactor()}
}

// part is one setting of the shape: how it is set, and how the guest sees it.
type part struct {
	check func(m *machine, level string) (string, error)
	see   func(ctx context.Context, m *machine) (string, error)
	set   func(s *Settings, level string) error
}

func (p part) factor(f factor.Factor) factor.Factor {
	f.Restart = true
	f.Check = func(_ context.Context, at factor.Place, level string) (string, error) {
		var trial Settings
		if err := p.set(&trial, level); err != nil {
			return "", err
		}
		if at.Machine == nil {
			return level, nil
		}
		m, err := guestOf(at)
		if err != nil {
			return "", err
		}
		return p.check(m, level)
	}
	f.Get = func(ctx context.Context, at factor.Place) (string, error) {
		m, err := guestOf(at)
		if err != nil {
			return "", err
		}
		return p.see(ctx, m)
	}
	f.Set = func(ctx context.Context, at factor.Place, level string) error {
		m, err := guestOf(at)
		if err != nil {
			return err
		}
		return m.reshape(func(s *Settings) error { return p.set(s, level) })
	}
	return f
}

func guestOf(at factor.Place) (*machine, error) {
	m, ok := at.Machine.(*machine)
	if !ok {
		return nil, fmt.Errorf("only platform guest has it: %w", errors.ErrUnsupported)
	}
	return m, nil
}

// same is a level that is its own canonical form.
func same(_ *machine, level string) (string, error) { return level, nil }

func topologyFactor() factor.Factor {
	return part{
		check: func(m *machine, level string) (string, error) {
			s := m.wanted()
			s.Topology = level
			return s.arranged()
		},
		see: func(ctx context.Context, m *machine) (string, error) {
			v, err := m.view(ctx)
			if err != nil {
				return "", err
			}
			return seen(v).String(), nil
		},
		set: func(s *Settings, level string) error {
			s.Topology = level
			if level == string(qemu.Spread) || level == string(qemu.Auto) {
				return nil
			}
			_, err := parseLayout(level)
			return err
		},
	}.factor(factor.Factor{
		Name: "guest.topology", Example: []string{"spread", "auto"},
		Doc: "how a guest's vCPUs are laid out: spread (a socket each), auto (as the cluster's advisor says for this host), or numbers such as 2x4, which is 2 sockets of 4 cores, or 2x4x2 with threads",
	})
}

// seen is the layout that a guest sees.
func seen(v view.Topology) layout {
	sockets := max(1, v.Sockets())
	dies := max(1, v.Dies()/sockets)
	cores := max(1, v.Cores()/sockets/dies)
	return layout{sockets, dies, cores, max(1, len(v.CPUs)/max(1, v.Cores()))}
}

// arranged is the layout that settings come to on this host.
func (s Settings) arranged() (string, error) {
	shape, err := s.shape()
	if err != nil {
		return "", err
	}
	host, err := hostShape()
	if err != nil {
		return "", err
	}
	if shape, err = shape.Arrange(host); err != nil {
		return "", err
	}
	c := shape.CPU
	return layout{max(1, c.Sockets), max(1, c.Dies), max(1, c.Cores), max(1, c.Threads)}.String(), nil
}

func vcpusFactor() factor.Factor {
	return part{
		check: same,
		see: func(ctx context.Context, m *machine) (string, error) {
			v, err := m.view(ctx)
			return strconv.Itoa(len(v.CPUs)), err
		},
		set: func(s *Settings, level string) error {
			n, err := strconv.Atoi(level)
			if err != nil || n < 1 || n > 255 {
				return fmt.Errorf("%q is no number of vCPUs: want 1 to 255", level)
			}
			s.VCPUs = n
			return nil
		},
	}.factor(factor.Factor{Name: "guest.vcpus", Doc: "vCPUs of a guest", Example: []string{"1", "2"}})
}

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

func controllerFactor() factor.Factor {
	devices := map[string]qemu.Controller{"vd": qemu.VirtioBlk, "sd": qemu.VirtioSCSI, "nvme": qemu.NVMe}
	return part{
		check: same,
		see: func(ctx context.Context, m *machine) (string, error) {
			device, err := m.dataDevice(ctx)
			if err != nil {
				return "", err
			}
			for prefix, controller := range devices {
				if strings.HasPrefix(device, prefix) {
					return string(controller), nil
				}
			}
			return device, nil
		},
		set: func(s *Settings, level string) error {
			for _, c := range devices {
				if string(c) == level {
					s.Controller = level
					return nil
				}
			}
			return fmt.Errorf("%q is no controller: want virtio-blk, virtio-scsi or nvme", level)
		},
	}.factor(factor.Factor{Name: "guest.controller", Doc: "how a guest's disk is attached: virtio-blk, virtio-scsi or nvme", Example: []string{"virtio-blk", "nvme"}})
}
