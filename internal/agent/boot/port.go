package boot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// portTime limits the wait for the port after its driver was loaded.
	portTime = 10 * time.Second
	// attachDelay is the interval at which an idle port is polled for a lab.
	attachDelay = 25 * time.Millisecond
)

// pause waits, or returns the reason of the context.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// findPort returns the device of the named virtio port. It needs no udev: the kernel lists
// the names of ports in sysfs.
func findPort(ctx context.Context, folder, name string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, portTime)
	defer cancel()
	for {
		files, err := filepath.Glob(folder + "/*/name")
		if err != nil {
			return "", err
		}
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil && strings.TrimSpace(string(text)) == name {
				return "/dev/" + filepath.Base(filepath.Dir(file)), nil
			}
		}
		if pause(ctx, 10*time.Millisecond) != nil {
			return "", fmt.Errorf("no virtio port named %q: the guest requires one, and its kernel the modules virtio_pci and virtio_console", name)
		}
	}
}

// attached is a port as a connection. While no lab is attached, a read returns EOF; before
// the first byte of a lab, that means to wait.
type attached struct {
	*os.File
	ctx    context.Context // closed with the port
	cancel context.CancelFunc
	heard  atomic.Bool
}

func openPort(ctx context.Context, name string) (*attached, error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("open the port to the lab: %w", err)
	}
	a := &attached{File: f}
	a.ctx, a.cancel = context.WithCancel(ctx)
	return a, nil
}

// Read waits for a lab's first byte without a limit.
func (a *attached) Read(p []byte) (int, error) {
	for {
		n, err := a.File.Read(p)
		if n > 0 {
			a.heard.Store(true)
		}
		if !errors.Is(err, io.EOF) || a.heard.Load() {
			return n, err
		}
		if err := pause(a.ctx, attachDelay); err != nil {
			return 0, err
		}
	}
}

// Close closes the port and ends a pending Read.
func (a *attached) Close() error {
	defer a.cancel()
	return a.File.Close()
}
