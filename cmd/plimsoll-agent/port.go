package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"plimsoll/internal/agent/boot"
	"plimsoll/internal/agent/guard"
	"plimsoll/internal/agent/remote"
	"plimsoll/internal/platform/local"
)

// servePort obeys one lab after the other that comes over a virtio port, until a signal
// ends this program. Who starts it lets whoever has the port do what its user may do; what
// a lab changes and does not put back, because it died, is put back.
func servePort(name string, console io.Writer) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("serve a port: %w", err)
		}
	}()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	dir, err := os.MkdirTemp("", "plimsoll-port-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave(dir, func() error { return os.RemoveAll(dir) })) }()
	p, err := local.Kind().Open(ctx, nil, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	server := remote.Server{Machine: p.Machine(), Version: version}
	if whole, ok := server.Machine.(guard.Whole); ok {
		guarded, refused := guard.New(ctx, whole, rules(dir))
		if refused != nil {
			return refused
		}
		server.Machine, server.Restore = guarded, guarded.Restore
	}
	return boot.Serve(ctx, name, server, console)
}
