package qemu

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/kernel"
)

// Chosen is an accelerator and the reason for it.
type Chosen struct {
	Accelerator hardware.Accelerator `json:"accelerator"`
	Why         string               `json:"why"`
}

// probeWait is the time limit of the first byte on the console under KVM.
const probeWait = 5 * time.Second

// Probe finds the accelerator by booting: KVM if a guest prints something within 5 s, else
// TCG. The folder caches the result for this QEMU and kernel.
func Probe(ctx context.Context, binary string, k *kernel.Kernel, dir string) (Chosen, error) {
	key, err := probeKey(binary, k)
	if err != nil {
		return Chosen{}, err
	}
	name := filepath.Join(dir, "accelerator-"+key+".json")
	// Guests that start concurrently wait for one probe.
	lock, err := os.OpenFile(name+".lock", os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return Chosen{}, fmt.Errorf("store the result of the accelerator probe: %w", err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return Chosen{}, fmt.Errorf("lock the result of the accelerator probe: %w", err)
	}
	var c Chosen
	if text, err := os.ReadFile(name); err == nil && json.Unmarshal(text, &c) == nil && (c.Accelerator == hardware.KVM || c.Accelerator == hardware.TCG) {
		return c, nil
	}
	if c, err = probe(ctx, binary, k.Image); err != nil {
		return Chosen{}, err
	}
	text, err := json.Marshal(c)
	if err != nil {
		return Chosen{}, err
	}
	if err := errors.Join(os.WriteFile(name+".new", text, 0o600), os.Rename(name+".new", name)); err != nil {
		return Chosen{}, fmt.Errorf("store the result of the accelerator probe: %w", err)
	}
	return c, nil
}

// probeKey identifies QEMU and the kernel.
func probeKey(binary string, k *kernel.Kernel) (string, error) {
	i, err := os.Stat(binary)
	if err != nil {
		return "", fmt.Errorf("probe the accelerator: %w", err)
	}
	h := sha256.Sum256(fmt.Append(nil, binary, i.Size(), i.ModTime().UnixNano(), k.Digest))
	return fmt.Sprintf("%x", h[:6]), nil
}

func probe(ctx context.Context, binary, image string) (Chosen, error) {
	device, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return Chosen{hardware.TCG, "there is no /dev/kvm"}, nil
	}
	if err != nil {
		return Chosen{hardware.TCG, "/dev/kvm cannot be opened: " + err.Error()}, nil
	}
	if err := device.Close(); err != nil {
		return Chosen{}, err
	}
	started := make(chan struct{})
	p, err := launch(binary, []string{
		"-name", "probe", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-machine", "q35", "-accel", "kvm", "-cpu", "host", "-m", "128M", "-serial", "stdio",
		"-kernel", image, "-append", "console=ttyS0 earlyprintk=serial,ttyS0,115200 panic=-1",
	}, &log{started: started})
	if err != nil {
		return Chosen{}, err
	}
	defer p.kill()
	watchdog := time.NewTimer(probeWait)
	defer watchdog.Stop()
	select {
	case <-started:
		return Chosen{hardware.KVM, "a guest booted under KVM"}, nil
	case <-p.ended:
		return Chosen{hardware.TCG, "QEMU ends under KVM: " + p.errors.lastLines(2)}, nil
	case <-watchdog.C:
		return Chosen{hardware.TCG, fmt.Sprintf("a guest under KVM says nothing in %v", probeWait)}, nil
	case <-ctx.Done():
		return Chosen{}, fmt.Errorf("probe the accelerator: %w", ctx.Err())
	}
}
