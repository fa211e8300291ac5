package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/internal/catalog"
	"plimsoll/internal/catalog/subprocess"
	"plimsoll/internal/factor"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
	simulated "plimsoll/internal/service/vcenter"
	"plimsoll/internal/tuner"
	"plimsoll/internal/workload"
)

// serve runs the subprocess that the arguments name. The answer is false where they name none.
func serve(args []string, in io.Reader, out, errors io.Writer) (status int, ok bool) {
	if len(args) == 1 && args[0] == simulated.Command {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		if err := simulated.Serve(ctx, in, out); err != nil {
			fmt.Fprintf(errors, "plimsoll %s: %v\n", simulated.Command, err)
			return cli.ExitTrouble, true
		}
		return cli.ExitDone, true
	}
	if len(args) == 1 && args[0] == factor.TunerCommand {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		open := func(ctx context.Context) (platform.Platform, error) { return local.Kind().Open(ctx, nil, 0) }
		if err := tuner.Serve(ctx, open, in, out); err != nil {
			fmt.Fprintf(errors, "plimsoll %s: %v\n", factor.TunerCommand, err)
			return cli.ExitTrouble, true
		}
		return cli.ExitDone, true
	}
	kinds := func() []workload.Kind { return catalog.All().Workloads }
	ok, err := subprocess.Serve(args, kinds, in, out)
	if err != nil {
		fmt.Fprintf(errors, "plimsoll %v\n", err)
		return cli.ExitTrouble, true
	}
	return cli.ExitDone, ok
}
