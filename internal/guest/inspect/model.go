package inspect

import (
	"context"
	"fmt"
	"strings"
)

// CPUModel is the processor that QEMU emulates or passes on.
type CPUModel struct {
	Name  string // QEMU's name, such as Haswell-noTSX, or host
	Shown string // the name that the guest sees
}

// CPUModel queries QEMU for the model of the first vCPU.
func (p Process) CPUModel(ctx context.Context) (m CPUModel, err error) {
	path, err := p.firstCPU(ctx)
	if err != nil {
		return m, err
	}
	for property, to := range map[string]*string{"type": &m.Name, "model-id": &m.Shown} {
		if err := p.Monitor.Execute(ctx, "qom-get", map[string]string{"path": path, "property": property}, to); err != nil {
			return m, fmt.Errorf("CPU model of guest %s: %w", p.Name, err)
		}
	}
	m.Name = strings.TrimSuffix(m.Name, "-x86_64-cpu")
	return m, nil
}

// CPUFeature queries QEMU for a feature of the first vCPU, such as l3-cache.
func (p Process) CPUFeature(ctx context.Context, name string) (on bool, err error) {
	path, err := p.firstCPU(ctx)
	if err == nil {
		err = p.Monitor.Execute(ctx, "qom-get", map[string]string{"path": path, "property": name}, &on)
	}
	if err != nil {
		return false, fmt.Errorf("feature %s of the processors of guest %s: %w", name, p.Name, err)
	}
	return on, nil
}

func (p Process) firstCPU(ctx context.Context) (string, error) {
	var cpus []struct {
		Path string `json:"qom-path"`
	}
	if err := p.Monitor.Execute(ctx, "query-cpus-fast", nil, &cpus); err != nil {
		return "", fmt.Errorf("processors of guest %s: %w", p.Name, err)
	}
	if len(cpus) == 0 {
		return "", fmt.Errorf("processors of guest %s: QEMU lists none", p.Name)
	}
	return cpus[0].Path, nil
}
