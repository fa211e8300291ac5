// Package subprocess lists the processes that plimsoll starts of itself on any machine: the
// worker that makes load, the peers that answer it, and servers for guests. Both programs,
// plimsoll and plimsoll-agent, contain them.
package subprocess

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"

	"plimsoll/internal/agent"
	"plimsoll/internal/guest/memcheck"
	"plimsoll/internal/guest/netem"
	"plimsoll/internal/guest/outpost"
	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/trace"
	"plimsoll/internal/hoststat/watch"
	"plimsoll/internal/nbd"
	"plimsoll/internal/router"
	"plimsoll/internal/service/classifier"
	"plimsoll/internal/service/reflector"
	"plimsoll/internal/service/responder"
	"plimsoll/internal/workload"
)

// subprocess takes orders from the lab alone: it has no flags and no help. The first SIGINT
// asks it to end in good order.
type subprocess func(stop <-chan struct{}, in io.Reader, out io.Writer) error

// subprocesses are listed by the argument that starts them.
func subprocesses(kinds func() []workload.Kind) map[string]subprocess {
	return map[string]subprocess{
		agent.Command: func(stop <-chan struct{}, in io.Reader, out io.Writer) error {
			return agent.Serve(context.Background(), in, out, kinds(), stop)
		},
		responder.Command:  untilStopped(responder.Serve),
		classifier.Command: untilStopped(classifier.Serve),
		reflector.Command:  untilStopped(reflector.Serve),
		hoststat.FollowCommand: func(stop <-chan struct{}, in io.Reader, out io.Writer) error {
			return trace.Serve(os.Getppid(), stop, in, out)
		},
		nbd.Command:       untilStopped(nbd.Serve),
		router.Command:    untilStopped(router.Serve),
		watch.Command:     untilStopped(watch.Serve),
		nbd.FilterCommand: func(_ <-chan struct{}, in io.Reader, out io.Writer) error { return nbd.ServeFilter(in, out) },
		memcheck.Command:  memcheck.Serve,
		outpost.Command:   outpost.Serve,
		netem.Command:     func(_ <-chan struct{}, in io.Reader, out io.Writer) error { return netem.Serve(in, out) },
	}
}

// untilStopped is a subprocess whose context ends when it is to stop.
func untilStopped(serve func(context.Context, io.Reader, io.Writer) error) subprocess {
	return func(stop <-chan struct{}, in io.Reader, out io.Writer) error {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() {
			select {
			case <-stop:
				cancel()
			case <-ctx.Done():
			}
		}()
		return serve(ctx, in, out)
	}
}

// Serve runs the subprocess that the arguments name to its end. A worker has the workloads that
// kinds returns. The answer is false where the arguments name no subprocess.
func Serve(args []string, kinds func() []workload.Kind, in io.Reader, out io.Writer) (ok bool, err error) {
	if len(args) != 1 {
		return false, nil
	}
	run, ok := subprocesses(kinds)[args[0]]
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
