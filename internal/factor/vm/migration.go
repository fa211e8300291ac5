package vm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"plimsoll/internal/factor"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/guest/spec"
)

// migration makes VMs migrate in the middle of each load.
func migration() factor.Factor {
	return factor.Factor{
		Name: "guest.migration", Example: []string{"none", "postcopy"},
		Doc: "live migration to another QEMU on the same host during each load: none, precopy or postcopy",
		Check: func(_ context.Context, at factor.Env, level string) (string, error) {
			if !slices.Contains([]string{spec.Unset, string(qemu.Precopy), string(qemu.Postcopy)}, level) {
				return "", fmt.Errorf("%q: must be none, precopy or postcopy", level)
			}
			if at.Machine == nil {
				return level, nil
			}
			m, err := migrator(at)
			if err != nil {
				return "", err
			}
			return level, m.MayMigrate(level)
		},
		Get: func(_ context.Context, at factor.Env) (string, error) {
			m, err := migrator(at)
			if err != nil {
				return "", err
			}
			return m.Migration(), nil
		},
		Set: func(_ context.Context, at factor.Env, level string) error {
			m, err := migrator(at)
			if err == nil {
				m.SetMigration(level)
			}
			return err
		},
	}
}

func migrator(at factor.Env) (spec.Migrator, error) {
	if m, ok := at.Machine.(spec.Migrator); ok {
		return m, nil
	}
	return nil, fmt.Errorf("only VMs of platform guest migrate: %w", errors.ErrUnsupported)
}
