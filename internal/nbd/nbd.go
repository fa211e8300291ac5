// Package nbd serves files as disks over NBD, the network block device protocol, on unix sockets, to QEMU, fio and other clients.
// A chain of filters may sit between socket and disk, in this process or in their own, so that studies can measure the cost of an
// I/O filter.
//
// The protocol is https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md: the fixed newstyle handshake, and simple
// replies in any order. There is no TLS: a unix socket has an owner and a mode instead.
package nbd

import (
	"context"
	"errors"
	"fmt"
	"syscall"
)

// Operation is a command of the protocol, by its number.
type Operation uint16

// The operations on a disk.
const (
	Read  Operation = 0
	Write Operation = 1
	Flush Operation = 3
	Trim  Operation = 4
	Zero  Operation = 6

	disconnect Operation = 2
)

// String names the operation.
func (o Operation) String() string {
	switch o {
	case Read:
		return "read"
	case Write:
		return "write"
	case Flush:
		return "flush"
	case Trim:
		return "trim"
	case Zero:
		return "zero"
	}
	return fmt.Sprintf("operation %d", uint16(o))
}

// Request is one operation on a disk, within the device's size.
type Request struct {
	Operation Operation
	Offset    int64  // bytes from the beginning
	Length    int64  // bytes; 0 for a flush
	Data      []byte // of a write, or the buffer of a read; nil otherwise
	Durable   bool   // on stable storage before the reply (FUA)
	Keep      bool   // zeroes stay allocated (NO_HOLE)

	passed int // number of filters that have seen it
	cookie uint64
	whole  []byte // buffer of Data, preceded by space for a reply's header
}

// Device is a disk. Its methods may be called concurrently.
type Device interface {
	// Do performs a request. An error that wraps a syscall.Errno is sent to the client as that
	// errno, any other as EIO.
	Do(ctx context.Context, r *Request) error
	// Size is the number of bytes, which does not change.
	Size() int64
	Close() error
}

// Prompt is a device that can tell which requests do not block. The server serves these
// without switching goroutines.
type Prompt interface {
	// Try performs a request if it does not block. If done is false, Do has to perform the request.
	Try(r *Request) (done bool, err error)
}

// Filter sees each request: reads after the disk, with their data, all others before it. It
// may read the data, modify them in place, block, and fail the request. Its methods may be
// called concurrently.
type Filter interface {
	Filter(ctx context.Context, r *Request) error
	// Waits is true if Filter may block.
	Waits() bool
}

// withFilters puts filters on a device, the first nearest to the client. Closing it closes the
// device.
func withFilters(d Device, filters ...Filter) Device {
	if len(filters) == 0 {
		return d
	}
	f := &filtered{Device: d, filters: filters}
	f.prompt, _ = d.(Prompt)
	for _, each := range filters {
		if each.Waits() {
			f.prompt = nil
		}
	}
	return f
}

type filtered struct {
	Device
	filters []Filter
	prompt  Prompt // nil if a filter may block
}

// Do passes the request through the filters and the device.
func (f *filtered) Do(ctx context.Context, r *Request) error {
	if r.Operation == Read {
		if err := f.Device.Do(ctx, r); err != nil {
			return err
		}
		return f.up(ctx, r)
	}
	if err := f.down(ctx, r); err != nil {
		return err
	}
	return f.Device.Do(ctx, r)
}

// Try does the same if nothing blocks. The request counts the filters that have seen it, so
// that Do does not repeat them.
func (f *filtered) Try(r *Request) (bool, error) {
	if f.prompt == nil {
		return false, nil
	}
	ctx := context.Background() // nothing blocks
	if r.Operation == Read {
		done, err := f.prompt.Try(r)
		if done && err == nil {
			err = f.up(ctx, r)
		}
		return done, err
	}
	if err := f.down(ctx, r); err != nil {
		return true, err
	}
	return f.prompt.Try(r)
}

func (f *filtered) down(ctx context.Context, r *Request) error {
	for r.passed < len(f.filters) {
		if err := f.filters[r.passed].Filter(ctx, r); err != nil {
			return err
		}
		r.passed++
	}
	return nil
}

func (f *filtered) up(ctx context.Context, r *Request) error {
	for i := len(f.filters) - 1; i >= 0; i-- {
		if err := f.filters[i].Filter(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// number is the protocol's number of an error; EIO for unknown errors.
func number(err error) uint32 {
	var e syscall.Errno
	if err == nil {
		return 0
	}
	if errors.As(err, &e) {
		switch e {
		case syscall.EPERM, syscall.EIO, syscall.ENOMEM, syscall.EINVAL, syscall.ENOSPC, syscall.EOVERFLOW, syscall.ENOTSUP, syscall.ESHUTDOWN:
			return uint32(e)
		case syscall.EFBIG, syscall.EDQUOT:
			return uint32(syscall.ENOSPC)
		case syscall.EROFS, syscall.EACCES:
			return uint32(syscall.EPERM)
		}
	}
	return uint32(syscall.EIO)
}
