package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"

	"plimsoll/internal/agent"
	"plimsoll/internal/catalog"
	"plimsoll/internal/service/reflector"
	"plimsoll/internal/service/responder"
)

// servant is a part of plimsoll that plimsoll starts itself, as a process of its
// own. It obeys the lab and no user: it has no flags and no help, and the first
// SIGINT asks it to end in good order.
type servant func(stop <-chan struct{}, in io.Reader, out io.Writer) error

// servants by the first argument that starts them.
func servants() map[string]servant {
	return map[string]servant{
		agent.Command: func(stop <-chan struct{}, in io.Reader, out io.Writer) error {
			return agent.Serve(context.Background(), in, out, catalog.All().Workloads, stop)
		},
		responder.Command: func(stop <-chan struct{}, in io.Reader, out io.Writer) error {
			ctx, cancel := until(stop)
			defer cancel()
			return responder.Serve(ctx, in, out)
		},
		reflector.Command: func(stop <-chan struct{}, in io.Reader, out io.Writer) error {
			ctx, cancel := until(stop)
			defer cancel()
			return reflector.Serve(ctx, in, out)
		},
	}
}

// until is a context that ends when stop is closed.
func until(stop <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		select {
		case <-stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// serve runs the servant that the arguments start. It answers false where they
// start none.
func serve(args []string, in io.Reader, out, errors io.Writer) (status int, ok bool) {
	if len(args) != 1 {
		return 0, false
	}
	run, ok := servants()[args[0]]
	if !ok {
		return 0, false
	}
	stop := make(chan struct{})
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	go func() { <-signals; close(stop) }()
	if err := run(stop, in, out); err != nil {
		fmt.Fprintf(errors, "plimsoll %s: %v\n", args[0], err)
		return exitTrouble, true
	}
	return exitDone, true
}
