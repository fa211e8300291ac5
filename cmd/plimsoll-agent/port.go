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
	"plimsoll/internal/agent/remote"
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
	return guarded(ctx, dir, nil, func(s remote.Server) error { return boot.Serve(ctx, name, s, console) })
}
