package clustersim

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"plimsoll/internal/cluster/replay/strategy"
	"plimsoll/internal/factor"
)

const (
	machineName = "cluster-sim"
	policyFile  = "/cluster/policy"
	levelFile   = "/cluster/level"
)

// Policy is the factor of the balancing policy.
func Policy() factor.Factor {
	return setting(factor.Factor{
		Name:    "cluster.policy",
		Doc:     "placement policy of platform cluster-sim; plimsoll cluster replay --list names them",
		Example: []string{"idle", "plimsoll"},
	}, policyFile, func(level string) error { _, err := strategy.Named(level); return err })
}

// Level is the factor of how small an imbalance is worth a move.
func Level() factor.Factor {
	return setting(factor.Factor{
		Name:    "cluster.level",
		Doc:     "migration threshold of platform cluster-sim, from 1 (mandatory moves only) to 5 (most aggressive)",
		Example: []string{"3", "5"},
	}, levelFile, func(text string) error { _, err := level(text); return err })
}

func level(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 5 {
		return 0, fmt.Errorf("%q is not a level: must be 1 to 5", text)
	}
	return n, nil
}

// setting makes a factor of a file on the simulated machine.
func setting(f factor.Factor, file string, check func(string) error) factor.Factor {
	here := func(p factor.Env) error {
		if p.Machine != nil && p.Machine.Name() != machineName {
			return fmt.Errorf("only platform %s has it: %w", machineName, errors.ErrUnsupported)
		}
		return nil
	}
	f.Check = func(_ context.Context, p factor.Env, level string) (string, error) {
		if err := check(level); err != nil {
			return "", err
		}
		return level, here(p)
	}
	f.Get = func(ctx context.Context, p factor.Env) (string, error) {
		if err := here(p); err != nil {
			return "", err
		}
		text, err := p.Machine.ReadFile(ctx, file)
		return string(text), err
	}
	f.Set = func(ctx context.Context, p factor.Env, level string) error {
		if err := here(p); err != nil {
			return err
		}
		return p.Machine.WriteFile(ctx, file, []byte(level))
	}
	return f
}
