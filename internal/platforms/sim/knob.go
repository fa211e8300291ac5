package sim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"plimsoll/internal/factor"
	"plimsoll/internal/platforms/virtual"
)

const (
	machineName = "sim"
	knobName    = "sim.knob"   // the factor; knobName:NAME is another knob
	knobFolder  = "/sim/knob/" // on the machine, a file for each knob
	knobDefault = "default"    // the knob without a name
	knobOff     = "off"        // initial level of a knob
	knobPinned  = "pinned"     // holds the counter of the knob's name
)

func isKnob(factor string) bool { return factor == knobName || strings.HasPrefix(factor, knobName+":") }

// Knob is the factor of a simulated machine. The platform's effects define what it does.
func Knob() factor.Factor {
	return factor.Factor{
		Name:    knobName,
		Doc:     "knob of platform sim, with the effect that the study plants; initially off",
		Target:  "name of the knob",
		Example: []string{knobOff, "on"},
		Holds:   []factor.Hold{{Counter: machineName + ".*", Target: "*", Free: knobOff, Pinned: knobPinned}},
		Check: func(_ context.Context, p factor.Env, level string) (string, error) {
			if strings.TrimSpace(level) != level || level == "" || strings.Contains(level, "\n") {
				return "", fmt.Errorf("%q is not a level: must be one line of text", level)
			}
			_, err := knob(p)
			return level, err
		},
		Get: func(ctx context.Context, p factor.Env) (string, error) {
			name, err := knob(p)
			if err != nil {
				return "", err
			}
			text, err := p.Machine.ReadFile(ctx, name)
			if errors.Is(err, fs.ErrNotExist) {
				return knobOff, nil
			}
			return string(text), err
		},
		Set: func(ctx context.Context, p factor.Env, level string) error {
			name, err := knob(p)
			if err != nil {
				return err
			}
			return p.Machine.WriteFile(ctx, name, []byte(level))
		},
	}
}

// knob is the file of a knob. A place without a machine has one too.
func knob(p factor.Env) (string, error) {
	switch {
	case p.Machine != nil && p.Machine.Name() != machineName:
		return "", fmt.Errorf("only platform sim has knobs: %w", errors.ErrUnsupported)
	case p.Target == knobDefault || strings.ContainsAny(p.Target, "/=\n"):
		return "", fmt.Errorf("%q is not the name of a knob", p.Target)
	case p.Target == "":
		return knobFolder + knobDefault, nil
	}
	return knobFolder + p.Target, nil
}

// knobs returns the levels of the knobs that were set, by the name of the factor.
func knobs(m *virtual.Machine) map[string]string {
	levels := map[string]string{}
	for name, level := range m.Files() {
		if knob, found := strings.CutPrefix(name, knobFolder); found {
			levels[strings.TrimSuffix(knobName+":"+knob, ":"+knobDefault)] = level
		}
	}
	return levels
}
