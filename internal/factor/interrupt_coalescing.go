package factor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// adaptive lets the driver choose.
const adaptive = "adaptive"

// InterruptCoalescing is the receive interrupt coalescing of a network interface (rx-usecs),
// set and read by ethtool.
func InterruptCoalescing() Factor {
	return Factor{
		Root:    true,
		Name:    "host.interrupt_coalescing",
		Doc:     "receive interrupt coalescing of a network interface (rx-usecs)",
		Target:  networkInterface,
		Gone:    interfaceGone,
		Example: []string{"0s", "50us"},
		Offers: func(ctx context.Context, p Env) ([]string, error) {
			_, err := coalescing(ctx, p)
			return nil, err
		},
		Check: func(_ context.Context, _ Env, level string) (string, error) {
			if level == adaptive {
				return level, nil
			}
			d, err := microseconds(level)
			return parameter.Duration(d).String(), err
		},
		Get: coalescing,
		Set: func(ctx context.Context, p Env, level string) error {
			args := []string{"adaptive-rx", "on"}
			if level != adaptive {
				d, err := microseconds(level)
				if err != nil {
					return err
				}
				args = []string{"adaptive-rx", "off", "rx-usecs", strconv.FormatInt(d.Microseconds(), 10)}
			}
			_, err := ethtool(ctx, p, "-C", args...)
			var refused *ethtoolError
			if errors.As(err, &refused) && level != adaptive { // many devices have no adaptive mode to disable
				_, err = ethtool(ctx, p, "-C", args[2:]...)
			}
			return err
		},
		Effect: func(_ context.Context, p Env) (Effect, error) {
			return Effect{Sets: []string{"ethtool -c " + p.Target}, Coupled: []string{coalescingName + p.Target + " " + waitOption}}, nil
		},
	}
}

// microseconds parses a level in whole microseconds.
func microseconds(level string) (time.Duration, error) {
	var d parameter.Duration
	if err := d.UnmarshalText([]byte(level)); err != nil || time.Duration(d) > time.Second || time.Duration(d)%time.Microsecond != 0 {
		return 0, fmt.Errorf("level %q is neither %s nor a time in whole microseconds up to 1s, like 50us", level, adaptive)
	}
	return time.Duration(d), nil
}

func coalescing(ctx context.Context, p Env) (string, error) {
	text, err := ethtool(ctx, p, "-c")
	if err != nil {
		return "", err
	}
	return parseCoalescing(p.Target, text)
}

// parseCoalescing parses the output of ethtool -c, of which these lines are used:
//
// Adaptive RX: off TX: n/a
// rx-usecs: 50
func parseCoalescing(target, text string) (string, error) {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(name) {
		case "Adaptive RX":
			if strings.HasPrefix(value, "on") {
				return adaptive, nil
			}
		case "rx-usecs":
			n, err := strconv.ParseInt(value, 10, 32)
			if err != nil || n < 0 {
				return "", fmt.Errorf("%s does not report its interrupt delay: rx-usecs is %q", target, value)
			}
			return parameter.Duration(time.Duration(n) * time.Microsecond).String(), nil
		}
	}
	return "", fmt.Errorf("%s does not report its interrupt delay", target)
}

// ethtoolError is the error message of ethtool.
type ethtoolError struct{ target, said string }

func (e *ethtoolError) Error() string {
	if strings.Contains(e.said, "not supported") {
		return e.target + " or its driver does not support interrupt coalescing: choose another interface"
	}
	return fmt.Sprintf("ethtool on %s: %s", e.target, e.said)
}

func ethtool(ctx context.Context, p Env, option string, args ...string) (string, error) {
	if err := checkInterface(p.Target); err != nil {
		return "", err
	}
	r, err := p.Machine.Run(ctx, platform.Command{Argv: append([]string{"ethtool", option, p.Target}, args...)})
	switch {
	case errors.Is(err, fs.ErrNotExist), err != nil && ctx.Err() == nil:
		return "", fmt.Errorf("cannot run ethtool on %s: apt install ethtool (or dnf install ethtool): %w", p.Machine.Name(), err)
	case err != nil:
		return "", fmt.Errorf("%s: %w", p.Machine.Name(), err)
	case r.Signal != "":
		return "", fmt.Errorf("%s: %s: %w", p.Machine.Name(), p.Target, r.Killed("ethtool"))
	case r.Exit != 0:
		return "", &ethtoolError{p.Target, strings.Join(strings.Fields(string(r.Stderr)), " ")}
	}
	return string(r.Stdout), nil
}

// coalescingName is the prefix of coalescing options as coupled settings: an adaptive
// interface has a delay of its own, which a level replaces.
const (
	coalescingName = "ethtool -C "
	waitOption     = "rx-usecs"
)

func coalescingOption(name string) (option, target string, ok bool) {
	rest, ok := strings.CutPrefix(name, coalescingName)
	if !ok {
		return "", "", false
	}
	target, option, ok = strings.Cut(rest, " ")
	return option, target, ok
}

func readCoalescing(ctx context.Context, m platform.Machine, target, option string) (string, error) {
	text, err := ethtool(ctx, Env{Machine: m, Target: target}, "-c")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == option {
			return strings.TrimSpace(value), nil
		}
	}
	return "", fmt.Errorf("%s does not say %s", target, option)
}
