// Package nbd serves disks over NBD, the network block device protocol, on unix sockets: to QEMU, fio and whatever else speaks it. A
// chain of filters may sit between the socket and the disk, in this process or in one of their own, which is what a study of
// what an I/O filter costs varies.
//
// What the protocol asks for is said in https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md: here it is the fixed
// newstyle handshake and simple replies, which may come in another order than their requests. There is no TLS: a unix socket has
// an owner and a mode instead.
package nbd

import (
	"context"
	"errors"
	"fmt"
	"syscall"
)

// Operation is what a request does. The numbers are the protocol's.
type Operation uint16

// All operations, but for the one that ends a connection.
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

// Request is one operation on a disk. Devices get it within their size.
type Request struct {
	Operation Operation
	Offset    int64  // bytes from the beginning
	Length    int64  // bytes; 0 for a flush
	Data      []byte // of a write, or to be filled by a read; nil otherwise
	Durable   bool   // the change is on stable storage before it is answered (FUA)
	Keep      bool   // zeroes stay allocated (NO_HOLE)

	passed int // filters that have seen it
	cookie uint64
	whole  []byte // buffer of Data with room for a reply's head before it
}

// Device is a disk. Its methods may be called at the same time.
type Device interface {
	// Do performs a request. An error that wraps a syscall.Errno is told to the client as that, any other as EIO.
	Do(ctx context.Context, r *Request) error
	// Size is the number of bytes, which stays as it is.
	Size() int64
	Close() error
}

// Prompt is a device that can say when a request needs no wait. The server then answers it at once, without a hand-over between threads.
type Prompt interface {
	// Try performs a request if that needs no wait. Where done is false nothing has happened, or nothing that Do would not do again.
	Try(r *Request) (done bool, err error)
}

// Filter sees each request on its way: reads after the disk, with the data on their way up, all others before it. It may look at the
// data, change them in place, wait, and refuse by an error. Its methods may be called at the same time.
type Filter interface {
	Filter(ctx context.Context, r *Request) error
	// Waits tells whether Filter may take longer than the work on the CPU.
	Waits() bool
}

// withFilters puts filters on a device, of which the first is nearest to the client. Closing it closes the device.
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
	prompt  Prompt // nil where something may wait
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

// Try does the same where nothing waits. A request that a filter has seen on its way down remembers that, so that Do does not show it again.
func (f *filtered) Try(r *Request) (bool, error) {
	if f.prompt == nil {
		return false, nil
	}
	ctx := context.Background() // nothing waits
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

// number is how the protocol tells an error. Those that it does not know are EIO.
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
