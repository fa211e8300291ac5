package vm

import (
	"context"

	"plimsoll/internal/factor"
	"plimsoll/internal/guest/spec"
)

func protection() factor.Factor {
	return setting{
		ownQEMU:   true,
		canonical: func(g spec.Guest) string { return g.Protection },
		read:      func(_ context.Context, r spec.Running) (string, error) { return r.Protection, nil },
		set: func(g *spec.Guest, level string) error {
			alone := spec.Guest{Protection: level}
			if _, err := alone.Checkpoints(); err != nil {
				return err
			}
			g.Protection = level
			return nil
		},
	}.factor(factor.Factor{
		Name: "guest.protection", Example: []string{spec.Unset, "checkpoint:100ms"},
		Pauses: func(level string) bool { return level != spec.Unset },
		Doc:    "standby of a guest, which takes over at the last checkpoint: none, or checkpoint:INTERVAL; what leaves the guest waits for the next checkpoint",
	})
}
