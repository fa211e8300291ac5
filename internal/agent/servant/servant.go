// Package servant holds the parts of plimsoll that plimsoll starts itself, as
// processes of their own, on whatever machine: the worker that makes load and the
// peers that answer it. Both programs, plimsoll and plimsoll-agent, contain them.
package servant

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"

	"plimsoll/internal/agent"
	"plimsoll/internal/guest/nbd"
	"plimsoll/internal/guest/netem"
	"plimsoll/internal/guest/vswitch"
	"plimsoll/internal/guest/witness"
	"plimsoll/internal/service/reflector"
	"plimsoll/internal/service/responder"
	"plimsoll/internal/workload"
)

// servant obeys the lab and no user: it has no flags and no help, and the first
// SIGINT asks it to end in good order.
type servant func(stop <-chan struct{}, in io.Reader, out io.Writer) error

// servants by the first argument that starts them.
func servants(kinds func() []workload.Kind) map[string]servant {
	return map[string]servant{
		agent.Command: func(stop <-chan struct{}, in io.Reader, out io.Writer) error {
			return agent.Serve(context.Background(), in, out, kinds(), stop)
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
		vswitch.Command: func(stop <-chan struct{}, in io.Reader, out io.Writer) error {
			ctx, cancel := until(stop)
			defer cancel()
			return vswitch.Serve(ctx, in, out)
		},
		nbd.Command: func(stop <-chan struct{}, in io.Reader, out io.Writer) error {
			ctx, cancel := until(stop)
			defer cancel()
			return nbd.Serve(ctx, in, out)
		},
		nbd.FilterCommand: func(_ <-chan struct{}, in io.Reader, out io.Writer) error { return nbd.ServeFilter(in, out) },
		witness.Command:   witness.Serve,
		netem.Command:     func(_ <-chan struct{}, in io.Reader, out io.Writer) error { return netem.Serve(in, out) },
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

// Serve runs the servant that the arguments start, to its end, with the workloads
// that kinds returns. It answers false where they start none.
func Serve(args []string, kinds func() []workload.Kind, in io.Reader, out io.Writer) (ok bool, err error) {
	if len(args) != 1 {
		return false, nil
	}
	run, ok := servants(kinds)[args[0]]
	if !ok {
		return false, nil
	}
	stop := make(chan struct{})
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	go func() { <-signals; close(stop) }()
	if err := run(stop, in, out); err != nil {
		return true, fmt.Errorf("%s: %w", args[0], err)
	}
	return true, nil
}
