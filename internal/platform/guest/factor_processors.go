package guest

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"plimsoll/internal/factor"
	"plimsoll/internal/guest/layout"
)

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
	}.factor(factor.Factor{
		Name: "guest.topology", Example: []string{"spread", "auto"},
		Doc: "vCPU topology of a guest: spread (one socket per vCPU), auto (as the topology advisor recommends for this host), or SOCKETSxCORES such as 2x4, or 2x4x2 with threads",
	})
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
	return layout.Of(shape.CPU).String(), nil
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
	}.factor(factor.Factor{Name: "guest.vcpus", Doc: "number of vCPUs of a guest", Example: []string{"1", "2"}})
}

func nodesFactor() factor.Factor {
	return part{
		check: func(m *machine, level string) (string, error) {
			s := m.wanted()
			s.Nodes, _ = strconv.Atoi(level) // judged before
			shape, err := s.shape()
			if err != nil {
				return "", err
			}
			host, err := hostShape()
			if err != nil {
				return "", err
			}
			shape, err = shape.Arrange(host)
			return strconv.Itoa(max(1, len(shape.NUMA))), err
		},
		see: func(ctx context.Context, m *machine) (string, error) {
			v, err := m.view(ctx)
			return strconv.Itoa(max(1, len(v.Nodes))), err
		},
		set: func(s *Settings, level string) error {
			n, err := strconv.Atoi(level)
			if err != nil || n < 1 || n > 64 {
				return fmt.Errorf("%q is no number of NUMA nodes: want 1 to 64", level)
			}
			s.Nodes = n
			return nil
		},
	}.factor(factor.Factor{Name: "guest.nodes", Doc: "virtual NUMA nodes of a guest", Example: []string{"1", "2"}})
}

// modelForm is a model of QEMU with features that are switched on or off.
var modelForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(,([+-][a-z0-9._-]+|[a-z0-9._-]+=(on|off)))*$`)

// features are those that a model is given, as NAME=on or NAME=off.
func features(model string) (name string, all []string) {
	parts := strings.Split(model, ",")
	for _, f := range parts[1:] {
		switch f[0] {
		case '+':
			f = f[1:] + "=on"
		case '-':
			f = f[1:] + "=off"
		}
		all = append(all, f)
	}
	return parts[0], all
}

func modelFactor() factor.Factor {
	return part{
		canon: func(s Settings) string {
			name, all := features(s.Model)
			return strings.Join(append([]string{name}, all...), ",")
		},
		see: one(modelSeen),
		set: func(s *Settings, level string) error {
			if !modelForm.MatchString(level) {
				return fmt.Errorf("%q is no CPU model: want one of QEMU, with features as in Haswell-noTSX,l3-cache=off", level)
			}
			s.Model = level
			return nil
		},
	}.factor(factor.Factor{
		Name: "guest.model", Example: []string{"Haswell-noTSX", "Skylake-Server-noTSX-IBRS"},
		Doc: "QEMU CPU model of a guest, with features as in Haswell-noTSX,l3-cache=off",
	})
}

// modelSeen asks QEMU for the model and for each feature that the settings name, and the
// guest for the name of the processor that it sees.
func modelSeen(ctx context.Context, r live) (string, error) {
	m, err := r.vm.CPUModel(ctx)
	if err != nil {
		return "", err
	}
	text, err := r.far.ReadFile(ctx, "/proc/cpuinfo")
	if err != nil {
		return "", fmt.Errorf("read the guest's processor: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		key, shown, _ := strings.Cut(line, ":")
		if strings.TrimSpace(key) == "model name" && strings.TrimSpace(shown) != strings.TrimSpace(m.Shown) {
			return fmt.Sprintf("%s, which the guest sees as %s", m.Name, strings.TrimSpace(shown)), nil
		}
	}
	all := []string{m.Name}
	_, given := features(r.settings.Model)
	for _, f := range given {
		name, _, _ := strings.Cut(f, "=")
		on, err := r.vm.CPUFeature(ctx, name)
		if err != nil {
			return "", err
		}
		all = append(all, name+map[bool]string{true: "=on", false: "=off"}[on])
	}
	return strings.Join(all, ","), nil
}
