package disk

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/agent/optical"
	"plimsoll/internal/agent/remote"
	"plimsoll/internal/agent/tether"
	"plimsoll/internal/effort"
	"plimsoll/internal/guest/guesttest"
	"plimsoll/internal/guest/initramfs"
	"plimsoll/internal/platform"
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
	effort.Deep(t, "boot a disk without an agent")
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

// An appliance as vSphere gets it: the firmware boots its first disk, the second is at a pvscsi
// controller, and the agent takes its ticket and its address from a CD. QEMU and the guest's kernel read
// the files of ours.
func TestRealApplianceJoinsItsLab(t *testing.T) {
	guesttest.Firmware(t)
	k := guesttest.Kernel(t)
	dir := t.TempDir()
	var archive bytes.Buffer
	if err := initramfs.Build(&archive, initramfs.Spec{Init: guesttest.Agent(t), Kernel: k, Modules: []string{"vsphere", "isofs"}}); err != nil {
		t.Fatal(err)
	}
	kernel, err := os.ReadFile(k.Packed)
	if err != nil {
		t.Fatal(err)
	}
	boot, err := Raw(Spec{Kernel: kernel, Initramfs: archive.Bytes(), Command: "console=ttyS0 panic=-1 no_timer_check plimsoll.lab=cd"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := Pack(dir, Machine{Name: "web", CPUs: 2, Memory: 384 << 20, Disks: []Source{source(boot), source(uneven())}})
	if err != nil {
		t.Fatal(err)
	}
	lab, err := tether.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lab.Close() })
	ticket, err := lab.Admit("web-1")
	if err != nil {
		t.Fatal(err)
	}
	ticket.Lab = fmt.Sprintf("10.0.2.2:%d", lab.Port()) // as QEMU's network shows this machine
	ticket.Address, ticket.Gateway = "10.0.2.77/24", "10.0.2.2"
	text, err := ticket.Format()
	if err != nil {
		t.Fatal(err)
	}
	cd, err := optical.Image(tether.File, text)
	if err != nil {
		t.Fatal(err)
	}
	image := filepath.Join(dir, "ticket.iso")
	if err := os.WriteFile(image, cd, 0o600); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	on, err := guesttest.PC{
		Sockets: 1, Cores: 2, Memory: 384 << 20, Card: "vmxnet3", CD: image,
		Disks: []guesttest.Drive{{File: a.Disks[0].Path, Controller: "ide"}, {File: a.Disks[1].Path, Controller: "pvscsi"}},
	}.Power(t)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { t.Logf("console:\n%s", on.Console()) })
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	conn, err := lab.Await(ctx, "web-1")
	if err != nil {
		t.Fatal(err)
	}
	m, err := remote.Connect(ctx, conn)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("joined after %.1f s", time.Since(begun).Seconds())
	for _, c := range []struct{ argv, want string }{
		{"nproc", "2"}, {"cat /proc/sys/kernel/hostname", "web-1"},
		{"mkdir -p -- /cd", ""}, {"mount -t iso9660 -o ro -- /dev/sr0 /cd", ""}, {"cat /cd/plimsoll.tkt", string(text)},
	} {
		r, err := m.Run(ctx, platform.Command{Argv: strings.Fields(c.argv)})
		if err != nil || r.Exit != 0 || strings.TrimSpace(string(r.Stdout)) != c.want {
			t.Errorf("%s: %q, exit %d, %s, %v; want %q", c.argv, r.Stdout, r.Exit, r.Stderr, err, c.want)
		}
	}
	// The kernel finds the disks of two controllers in any order.
	sizes, err := m.Run(ctx, platform.Command{Argv: []string{"cat", "/sys/block/sda/size", "/sys/block/sdb/size"}})
	if err != nil || !slices.Contains(strings.Fields(string(sizes.Stdout)), fmt.Sprint(len(uneven())/sector)) {
		t.Errorf("disks of %q sectors, %v; want one of %d", sizes.Stdout, err, len(uneven())/sector)
	}
	if err := m.End(ctx); err != nil {
		t.Error(err)
	}
	if err := on.Wait(ctx); err != nil {
		t.Errorf("the guest goes on: %v", err)
	}
}
