// Package outpost keeps a QEMU on another host. A keeper, a process there, starts it, joins its sockets with those of the lab, copies its
// memory, and kills it when the lab has not answered for as long as a lease lasts.
package outpost

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"sync"

	"plimsoll/internal/platform"
)

// Machine is the other host.
type Machine interface {
	platform.Machine
	platform.Dialer
	platform.Carrier
}

// Host is a host for guests. Its files are in the folder of plimsoll's agent there, which ends with the connection.
type Host struct {
	Machine Machine

	mu      sync.Mutex
	agent   string            // the agent whose folder has the files below
	brought map[string]string // paths there, by paths here
}

// Folder is where guests have their folders.
func (h *Host) Folder(ctx context.Context) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.folder(ctx)
}

func (h *Host) folder(ctx context.Context) (string, error) {
	agent, err := h.Machine.Self(ctx)
	if err != nil {
		return "", fmt.Errorf("on host %s: %w", h.Machine.Name(), err)
	}
	folder := path.Join(path.Dir(agent), "guests")
	if agent != h.agent {
		if _, err := h.run(ctx, nil, "mkdir", "-p", "-m", "700", "--", folder); err != nil {
			return "", err
		}
		h.agent, h.brought = agent, map[string]string{}
	}
	return folder, nil
}

// run runs a command, whose failure is an error.
func (h *Host) run(ctx context.Context, in io.Reader, argv ...string) (string, error) {
	r, err := h.Machine.Run(ctx, platform.Command{Argv: argv, Stdin: in})
	if err == nil && r.Exit != 0 {
		err = fmt.Errorf("%s ended with status %d: %s", argv[0], r.Exit, strings.TrimSpace(string(r.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("on host %s: %w", h.Machine.Name(), err)
	}
	return string(r.Stdout), nil
}

// Version is what QEMU there says of its release.
func (h *Host) Version(ctx context.Context, binary string) (string, error) {
	text, err := h.run(ctx, nil, binary, "--version")
	if err != nil {
		return "", fmt.Errorf("find QEMU: %w: install the package qemu-system-x86 there", err)
	}
	return text, nil
}

// Has reports whether a file can be opened there.
func (h *Host) Has(ctx context.Context, file string) error {
	_, err := h.run(ctx, nil, "test", "-w", file)
	return err
}

// Bring copies a file there, once, and returns its path.
func (h *Host) Bring(ctx context.Context, file string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	folder, err := h.folder(ctx)
	if err != nil {
		return "", err
	}
	if there := h.brought[file]; there != "" {
		return there, nil
	}
	there, err := h.bring(ctx, file, folder)
	if err != nil {
		return "", fmt.Errorf("copy %s to host %s: %w", file, h.Machine.Name(), err)
	}
	h.brought[file] = there
	return there, nil
}

func (h *Host) bring(ctx context.Context, file, folder string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // only read
	digest := sha256.New()
	name := sha256.Sum256([]byte(file))
	there := path.Join(folder, "file-"+hex.EncodeToString(name[:8]))
	if _, err := h.run(ctx, io.TeeReader(f, digest), "dd", "of="+there, "bs=1M", "status=none"); err != nil {
		return "", err
	}
	sum, err := h.run(ctx, nil, "sha256sum", "--", there)
	if err != nil {
		return "", err
	}
	if want := hex.EncodeToString(digest.Sum(nil)); !strings.HasPrefix(sum, want) {
		return "", fmt.Errorf("its digest there is %.64s, not %s", sum, want)
	}
	return there, nil
}
