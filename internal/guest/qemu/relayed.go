package qemu

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"plimsoll/internal/guest/outpost"
	"plimsoll/internal/nbd"
)

// socket connects a QEMU on another host to a socket of this one.
func socket(path string) outpost.Dial {
	return func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}
}

// file has this process serve a file as a disk that is only read.
func file(path string) outpost.Dial {
	return func(ctx context.Context) (net.Conn, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		info, err := f.Stat()
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		far, near := net.Pipe()
		go func() {
			server := nbd.Server{Exports: []nbd.Export{{Device: fixed{f, info.Size()}, ReadOnly: true}}}
			_ = server.ServeConn(context.WithoutCancel(ctx), near) // until QEMU has ended
			_ = f.Close()
		}()
		return far, nil
	}
}

// fixed is a file that nobody writes.
type fixed struct {
	*os.File
	size int64
}

func (f fixed) Size() int64 { return f.size }

func (f fixed) Do(_ context.Context, r *nbd.Request) error {
	switch r.Operation {
	case nbd.Read:
		_, err := f.ReadAt(r.Data, r.Offset)
		return err
	case nbd.Flush:
		return nil
	}
	return fmt.Errorf("%s to a disk that is only read: %w", r.Operation, os.ErrPermission)
}
