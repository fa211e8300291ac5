package disk

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/guest/guesttest"
	"plimsoll/internal/guest/initramfs"
)

const firstProgram = `package main

import (
	"fmt"
	"os"
	"syscall"
)

func main() {
	console, err := os.OpenFile("/dev/console", os.O_RDWR, 0)
	if err != nil {
		os.Exit(1)
	}
	syscall.Mount("proc", "/proc", "proc", 0, "")
	line, _ := os.ReadFile("/proc/cmdline")
	fmt.Fprintf(console, "guest: booted with %s\r\n", line)
	syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF)
}
`

// made is a disk that boots the distribution's kernel into a program that says so.
func made(t *testing.T) []byte {
	t.Helper()
	k := guesttest.Kernel(t)
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "init")
	if err := os.WriteFile(source, []byte(firstProgram), 0o644); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, source)
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GO111MODULE=off")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatal(err, string(text))
	}
	var archive bytes.Buffer
	if err := initramfs.Build(&archive, initramfs.Spec{Init: program, Kernel: k, Modules: []string{"channel"}}); err != nil {
		t.Fatal(err)
	}
	packed, err := os.ReadFile(k.Packed)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := Raw(Spec{Kernel: packed, Initramfs: archive.Bytes(), Command: "console=ttyS0 quiet loglevel=3 panic=-1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("kernel %s, initramfs of %d and disk of %d bytes", k.Version, archive.Len(), len(raw))
	return raw
}

func TestRealFirmwareBoots(t *testing.T) {
	raw := made(t)
	const firmware = "/usr/share/ovmf/OVMF.fd"
	if _, err := os.Stat(firmware); err != nil {
		t.Skip("ovmf is not installed")
	}
	qemu, err := exec.LookPath("qemu-system-x86_64")
	if err != nil {
		t.Skip("qemu-system-x86_64 is not installed")
	}
	image := filepath.Join(t.TempDir(), "disk.raw")
	if err := os.WriteFile(image, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Second)
	defer cancel()
	began := time.Now()
	cmd := exec.CommandContext(ctx, qemu, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-machine", "q35", "-accel", "tcg", "-m", "256M", "-bios", firmware, "-serial", "stdio",
		"-drive", "if=none,id=d,format=raw,file="+image, "-device", "ide-hd,drive=d,bootindex=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	if want := `guest: booted with initrd=\INITRD.IMG console=ttyS0`; !strings.Contains(string(out), want) {
		t.Fatalf("%v: the guest did not say %q but:\n%s", err, want, out)
	}
	t.Logf("%.1f s from start to power-off", time.Since(began).Seconds())
}
