package vsphere_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"plimsoll/internal/effort"
	"plimsoll/internal/service/vcenter"
)

// A simulator has many small files: folders and descriptions of VMs.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == vcenter.Command { // a service that runs as a process of its own
		os.Exit(serveCenter())
	}
	if err := flag.Set("test.parallel", "8"); err != nil { // those that run in parallel wait for simulated tasks
		panic(err)
	}
	effort.InMemory()
	effort.CollectSeldom()
	m.Run()
}

// serveCenter runs a simulator as a service until it is told to stop.
func serveCenter() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := vcenter.Serve(ctx, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
