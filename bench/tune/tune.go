// Package tune measures how plimsoll tune finds settings: simulated strategies, and real targets from bad defaults against the best
// setting of a sweep.
package tune

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// Run simulates the strategies, or measures the named targets, else all; ran is false if the arguments are for another benchmark.
//
//	tune [-out DIR] [-set PATH=VALUE]... [TARGET...]
//	tune strategies
func Run(args []string) (ran bool, err error) {
	if len(args) == 0 || args[0] != "tune" {
		return false, nil
	}
	if len(args) == 2 && args[1] == "strategies" {
		return true, Strategies(os.Stdout)
	}
	flags := flag.NewFlagSet("bench tune", flag.ContinueOnError)
	out := flags.String("out", "", "folder for the results, which are kept there")
	blocks := flags.Int("blocks", lastBlocks, "`blocks` of the last comparison")
	var sets []string
	flags.Func("set", "override of the studies, `path=value`", func(text string) error { sets = append(sets, text); return nil })
	if err := flags.Parse(args[1:]); errors.Is(err, flag.ErrHelp) {
		return true, nil
	} else if err != nil {
		return true, err
	}
	if *blocks < 1 {
		return true, fmt.Errorf("-blocks %d: the last comparison needs at least 1 block", *blocks)
	}
	chosen, err := named(flags.Args())
	if err != nil {
		return true, err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir := *out
	if dir == "" {
		if dir, err = os.MkdirTemp("", "bench-tune-"); err != nil {
			return true, err
		}
		defer os.RemoveAll(dir)
	}
	for _, t := range chosen {
		if failed := t.measured(ctx, dir, sets, *blocks, os.Stdout); failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", t.name, failed))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return true, err
}

// named are the targets of these names, all without one.
func named(names []string) (chosen []target, err error) {
	if len(names) == 0 {
		return targets, nil
	}
	for _, name := range names {
		i := slices.IndexFunc(targets, func(t target) bool { return t.name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown target %q; known: storage, nginx, postgres, mariadb, redis, guest-disk, and strategies", name)
		}
		chosen = append(chosen, targets[i])
	}
	return chosen, nil
}
