package vm

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"plimsoll/internal/factor"
	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/layout"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/guest/view"
)

// arranged is the hardware of the VM on this host.
func arranged(g spec.Guest) (hardware.Shape, error) {
	shape, err := g.Shape("guest")
	if err != nil {
		return shape, err
	}
	t, err := view.Read(os.ReadFile)
	if err != nil {
		return shape, fmt.Errorf("read the topology of this host: %w", err)
	}
	return shape.Arrange(hardware.HostShape("this host", t))
}

// inGuest reads the CPU topology that the VM sees.
func inGuest(read func(view.Topology) string) func(context.Context, spec.Running) (string, error) {
	return func(ctx context.Context, r spec.Running) (string, error) {
		t, err := view.Read(func(name string) ([]byte, error) { return r.Agent.ReadFile(ctx, name) })
		if err != nil {
			return "", err
		}
		return read(t), nil
	}
}

func topology() factor.Factor {
	return setting{
		check: func(_ spec.Machine, g spec.Guest, _ string) (string, error) {
			shape, err := arranged(g)
			if err != nil {
				return "", err
			}
			return layout.Of(shape.CPU).String(), nil
		},
		read: inGuest(func(t view.Topology) string { return layout.Seen(t).String() }),
		set: func(g *spec.Guest, level string) error {
			g.Topology = level
			return layout.Check(level)
		},
	}.factor(factor.Factor{
		Name: "guest.topology", Example: []string{"spread", "auto"},
		Doc: "vCPU topology of a guest: spread (one socket per vCPU), auto (recommended for this host), or SOCKETSxCORES such as 2x4, or 2x4x2 with threads",
	})
}

func vcpus() factor.Factor {
	return setting{
		check: asGiven,
		read:  inGuest(func(t view.Topology) string { return strconv.Itoa(len(t.CPUs)) }),
		set:   number("vCPUs", 255, func(g *spec.Guest) *int { return &g.VCPUs }),
	}.factor(factor.Factor{Name: "guest.vcpus", Doc: "number of vCPUs of a guest", Example: []string{"1", "2"}})
}

func nodes() factor.Factor {
	return setting{
		check: func(_ spec.Machine, g spec.Guest, _ string) (string, error) {
			shape, err := arranged(g)
			return strconv.Itoa(max(1, len(shape.NUMA))), err
		},
		read: inGuest(func(t view.Topology) string { return strconv.Itoa(max(1, len(t.Nodes))) }),
		set:  number("NUMA nodes", 64, func(g *spec.Guest) *int { return &g.Nodes }),
	}.factor(factor.Factor{Name: "guest.nodes", Doc: "virtual NUMA nodes of a guest", Example: []string{"1", "2"}})
}

// modelForm is a CPU model of QEMU, with features switched on or off.
var modelForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(,([+-][a-z0-9._-]+|[a-z0-9._-]+=(on|off)))*$`)

// features splits a model into its name and its features, as NAME=on or NAME=off.
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

func model() factor.Factor {
	return setting{
		ownQEMU: true,
		canonical: func(g spec.Guest) string {
			name, all := features(g.Model)
			return strings.Join(append([]string{name}, all...), ",")
		},
		read: readModel,
		set: func(g *spec.Guest, level string) error {
			if !modelForm.MatchString(level) {
				return fmt.Errorf("%q: must be a CPU model of QEMU, with features as in Haswell-noTSX,l3-cache=off", level)
			}
			g.Model = level
			return nil
		},
	}.factor(factor.Factor{
		Name: "guest.model", Example: []string{"Haswell-noTSX", "Skylake-Server-noTSX-IBRS"},
		Doc: "QEMU CPU model of a guest, with features as in Haswell-noTSX,l3-cache=off",
	})
}

// readModel reads the model and the configured features from QEMU, and the processor name from
// the VM.
func readModel(ctx context.Context, r spec.Running) (string, error) {
	m, err := r.QEMU.CPUModel(ctx)
	if err != nil {
		return "", err
	}
	text, err := r.Agent.ReadFile(ctx, "/proc/cpuinfo")
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
	_, given := features(r.Spec.Model)
	for _, f := range given {
		name, _, _ := strings.Cut(f, "=")
		on, err := r.QEMU.CPUFeature(ctx, name)
		if err != nil {
			return "", err
		}
		all = append(all, name+map[bool]string{true: "=on", false: "=off"}[on])
	}
	return strings.Join(all, ","), nil
}
