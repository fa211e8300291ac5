package factor

import (
	"context"
	"errors"
	"fmt"

	"plimsoll/internal/platform"
)

// Online lists the online CPUs of a machine.
func Online(ctx context.Context, m platform.Machine) (platform.CPUs, error) {
	text, err := Read(ctx, m, "/sys/devices/system/cpu/online", "list of CPUs")
	if err != nil {
		return nil, err
	}
	cpus, err := platform.ParseCPUs(text)
	if err != nil {
		return nil, fmt.Errorf("%s: read the online CPUs: %w", m.Name(), errors.Join(err, errors.ErrUnsupported))
	}
	return cpus, nil
}
