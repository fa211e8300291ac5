package guesttest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// firmware is UEFI firmware for QEMU.
const firmware = "/usr/share/ovmf/OVMF.fd"

// PC is a machine with UEFI firmware and the devices of vSphere's VMs.
type PC struct {
	Sockets, Cores int // cores of a socket
	Nodes          int // of NUMA
	Memory         int64
	Disks          []Drive
	Card           string // vmxnet3 or e1000e, on QEMU's user network; empty for none
	CD             string // a file; empty for none
}

// Drive is a disk of a PC.
type Drive struct {
	File       string // QCOW2, or stream-optimized VMDK, which is not changed
	Controller string // ide, pvscsi, nvme or sata; QEMU's firmware does not boot from pvscsi
}

// Powered is a PC that is powered on.
type Powered struct {
	cmd   *exec.Cmd
	ended chan struct{}

	mu   sync.Mutex
	said bytes.Buffer
}

// Firmware skips the test where there is no firmware for PCs.
func Firmware(t testing.TB) {
	t.Helper()
	if _, err := os.Stat(firmware); err != nil {
		t.Skip("no UEFI firmware for QEMU: ovmf is missing (./setup test installs it)")
	}
}

// Power starts a PC; the end of the test stops it.
func (p PC) Power(t testing.TB) (*Powered, error) {
	on := &Powered{cmd: exec.Command("qemu-system-x86_64", p.arguments()...), ended: make(chan struct{})}
	on.cmd.Stdout, on.cmd.Stderr = on, on
	on.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := on.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = on.cmd.Wait() // it may be killed
		close(on.ended)
	}()
	t.Cleanup(on.Off)
	return on, nil
}

func (p PC) arguments() []string {
	args := []string{
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-machine", "pc", "-accel", "tcg", "-cpu", "Nehalem",
		"-bios", firmware, "-serial", "stdio", "-m", fmt.Sprintf("%dM", p.Memory>>20),
		"-smp", fmt.Sprintf("%d,sockets=%d,cores=%d,threads=1", p.Sockets*p.Cores, p.Sockets, p.Cores),
	}
	for n := range max(0, p.Nodes) {
		if p.Nodes < 2 {
			break
		}
		each := p.Sockets * p.Cores / p.Nodes
		args = append(args, "-object", fmt.Sprintf("memory-backend-ram,id=m%d,size=%dM", n, p.Memory>>20/int64(p.Nodes)),
			"-numa", fmt.Sprintf("node,nodeid=%d,memdev=m%d,cpus=%d-%d", n, n, n*each, n*each+each-1))
	}
	for i, d := range p.Disks {
		args = append(args, d.arguments(i)...)
	}
	if p.Card != "" {
		args = append(args, "-netdev", "user,id=n", "-device", p.Card+",netdev=n,romfile=")
	}
	if p.CD != "" {
		args = append(args, "-drive", "if=none,id=cd,media=cdrom,format=raw,readonly=on,file="+p.CD, "-device", "ide-cd,drive=cd,bus=ide.0")
	}
	return args
}

// arguments are those of a disk by number; the PC boots from the first.
func (d Drive) arguments(n int) []string {
	boot := ""
	if n == 0 {
		boot = ",bootindex=0"
	}
	drive := fmt.Sprintf("if=none,id=d%d,file=%s", n, d.File)
	if strings.HasSuffix(d.File, ".vmdk") {
		drive += ",format=vmdk,snapshot=on"
	}
	switch d.Controller {
	case "ide":
		return []string{"-drive", drive, "-device", fmt.Sprintf("ide-hd,drive=d%d,bus=ide.1%s", n, boot)}
	case "nvme":
		return []string{"-drive", drive, "-device", fmt.Sprintf("nvme,drive=d%d,serial=disk%d%s", n, n, boot)}
	case "sata":
		return []string{"-drive", drive, "-device", fmt.Sprintf("ich9-ahci,id=c%d", n), "-device", fmt.Sprintf("ide-hd,drive=d%d,bus=c%d.0%s", n, n, boot)}
	}
	return []string{"-drive", drive, "-device", fmt.Sprintf("%s,id=c%d", d.Controller, n), "-device", fmt.Sprintf("scsi-hd,drive=d%d,bus=c%d.0%s", n, n, boot)}
}

// Write stores console output.
func (o *Powered) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.said.Write(p)
}

// Console is the output so far.
func (o *Powered) Console() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.said.String()
}

// Off cuts the power.
func (o *Powered) Off() {
	_ = o.cmd.Process.Kill() // it may have ended
	<-o.ended
}

// Ended is closed when the PC is off.
func (o *Powered) Ended() <-chan struct{} { return o.ended }

// Wait waits until the PC has powered off by itself.
func (o *Powered) Wait(ctx context.Context) error {
	select {
	case <-o.ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
