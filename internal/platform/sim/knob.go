package sim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"plimsoll/internal/factor"
)

// Knob is the factor of a simulated machine. What it does is what the
// platform's effects say.
func Knob() factor.Factor {
	name := func(p factor.Place) string {
		if p.Target == "" {
			return knobFolder + "default"
		}
		return knobFolder + p.Target
	}
	return factor.Factor{
		Name:    "sim.knob",
		Doc:     "a knob of the simulated platform: what it does is planted by the study's effects; it starts off",
		Target:  "name of the knob",
		Example: []string{"off", "on"},
		Get: func(ctx context.Context, p factor.Place) (string, error) {
			if p.Machine.Name() != "sim" {
				return "", fmt.Errorf("only platform sim has knobs: %w", errors.ErrUnsupported)
			}
			text, err := p.Machine.ReadFile(ctx, name(p))
			if errors.Is(err, fs.ErrNotExist) {
				return "off", nil
			}
			return string(text), err
		},
		Set: func(ctx context.Context, p factor.Place, level string) error {
			return p.Machine.WriteFile(ctx, name(p), []byte(level))
		},
	}
}
