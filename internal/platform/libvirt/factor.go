package libvirt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"plimsoll/internal/factor"
	"plimsoll/internal/guest/furnish"
	"plimsoll/internal/guest/layout"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/guest/view"
	"plimsoll/internal/parameter"
)

// Factors are the parts of a guest's shape that a study may vary, under the names that they
// have on platform guest. A guest boots anew for each change, and what it then sees of
// itself is what counts.
func Factors() []factor.Factor {
	return []factor.Factor{topologyFactor(), vcpusFactor(), memoryFactor(), controllerFactor()}
}

// part is one setting of the shape: how it is set, and how the guest sees it.
type part struct {
	check func(m *machine, level string) (string, error) // nil takes the level as it is
	see   func(ctx context.Context, m *machine) (string, error)
	set   func(s *Settings, level string) error
}

func (p part) factor(f factor.Factor) factor.Factor {
	f.Restart = true
	f.Check = func(_ context.Context, at factor.Place, level string) (string, error) {
		var trial Settings
		if err := p.set(&trial, level); err != nil || at.Machine == nil {
			return level, err
		}
		m, err := guestOf(at)
		if err != nil || p.check == nil {
			return level, err
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
	switch m := at.Machine.(type) {
	case *machine:
		return m, nil
	case *resident:
		return nil, fmt.Errorf("the shape of domain %s is its owner's: leave out the setting domain to have one made: %w", m.Name(), errors.ErrUnsupported)
	}
	return nil, fmt.Errorf("only a guest of platform libvirt has it: %w", errors.ErrUnsupported)
}

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
			return layout.Seen(v).String(), nil
		},
		set: func(s *Settings, level string) error {
			s.Topology = level
			return layout.Check(level)
		},
	}.factor(factor.Factor{Name: "guest.topology", Doc: "vCPU topology of a guest", Example: []string{"spread", "auto"}})
}

// arranged is the layout that settings come to on this host.
func (s Settings) arranged() (string, error) {
	shape, err := s.shape(machineName)
	if err != nil {
		return "", err
	}
	t, err := view.Read(os.ReadFile)
	if err != nil {
		return "", fmt.Errorf("read the topology of this host: %w", err)
	}
	if shape, err = shape.Arrange(qemu.HostShape("this host", t)); err != nil {
		return "", err
	}
	return layout.Of(shape.CPU).String(), nil
}

func vcpusFactor() factor.Factor {
	return part{
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
	}.factor(factor.Factor{Name: "guest.vcpus", Doc: "number of vCPUs of a guest", Example: []string{"1", "2"}})
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
			return m.wanted().seenMemory(string(text))
		},
		set: func(s *Settings, level string) error {
			if err := s.Memory.UnmarshalText([]byte(level)); err != nil {
				return fmt.Errorf("%q: want %w", level, err)
			}
			return nil
		},
	}.factor(factor.Factor{Name: "guest.memory", Doc: "memory of a guest", Example: []string{"256MiB", "1GiB"}})
}

// seenMemory is the size of memory that a guest was given, where its kernel has at least
// three fifths of it: a kernel keeps a part for itself before it counts.
func (s Settings) seenMemory(meminfo string) (string, error) {
	var total int64
	if _, err := fmt.Sscanf(meminfo, "MemTotal: %d kB", &total); err != nil {
		return "", fmt.Errorf("read the guest's memory: /proc/meminfo begins with %.40q", meminfo)
	}
	if has := parameter.Bytes(total << 10); has > s.Memory || has < s.Memory/5*3 {
		return has.String(), nil
	}
	return s.Memory.String(), nil
}

func controllerFactor() factor.Factor {
	return part{
		see: func(ctx context.Context, m *machine) (string, error) {
			far, err := m.up(ctx)
			if err != nil {
				return "", err
			}
			device, err := furnish.DeviceAt(ctx, far, scratch)
			if err != nil {
				return "", err
			}
			if c, ok := furnish.ControllerOf(device); ok {
				return string(c), nil
			}
			return device, nil
		},
		set: func(s *Settings, level string) error {
			if c := qemu.Controller(level); c != qemu.VirtioBlk && c != qemu.VirtioSCSI {
				return fmt.Errorf("%q is no controller that libvirt has: want virtio-blk or virtio-scsi", level)
			}
			s.Controller = level
			return nil
		},
	}.factor(factor.Factor{Name: "guest.controller", Doc: "disk controller of a guest", Example: []string{"virtio-blk", "virtio-scsi"}})
}
