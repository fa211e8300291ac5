package initramfs

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/guest/guesttest"
)

// firstProgram loads the modules that an archive lists, looks for the channel, says
// so on the serial line and ends the guest.
const firstProgram = `package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

func main() {
	console, err := os.OpenFile("/dev/console", os.O_RDWR, 0)
	if err != nil {
		os.Exit(1)
	}
	syscall.Mount("proc", "/proc", "proc", 0, "")
	syscall.Mount("sysfs", "/sys", "sysfs", 0, "")
	order, _ := os.ReadFile("/mods/order")
	loaded := 0
	for _, name := range strings.Fields(string(order)) {
		f, err := os.Open("/mods/" + name)
		if err == nil {
			none := []byte{0}
			if _, _, e := syscall.Syscall(313, f.Fd(), uintptr(unsafe.Pointer(&none[0])), 0); e != 0 {
				err = e
			}
		}
		if err != nil {
			fmt.Fprintf(console, "module %s: %v\r\n", name, err)
			continue
		}
		loaded++
	}
	port := ""
	for i := 0; i < 100 && port == ""; i++ {
		names, _ := filepath.Glob("/sys/class/virtio-ports/*/name")
		for _, n := range names {
			text, _ := os.ReadFile(n)
			port = strings.TrimSpace(string(text))
		}
		time.Sleep(20 * time.Millisecond)
	}
	var u syscall.Utsname
	syscall.Uname(&u)
	var release []byte
	for _, c := range u.Release {
		if c != 0 {
			release = append(release, byte(c))
		}
	}
	fmt.Fprintf(console, "guest: kernel %s, %d modules, port %q\r\n", release, loaded, port)
	syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF)
}
`

// program compiles a static program.
func program(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	file, out := filepath.Join(dir, "main.go"), filepath.Join(dir, "init")
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, file)
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GO111MODULE=off")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatal(err, string(text))
	}
	return out
}

func TestRealBoot(t *testing.T) {
	k := guesttest.Kernel(t)
	qemu, err := exec.LookPath("qemu-system-x86_64")
	if err != nil {
		t.Skip("qemu-system-x86_64 is not installed")
	}
	a, err := New(Spec{Init: program(t, firstProgram), Kernel: k, Modules: []string{"channel", "disks", "network", "netem"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("initramfs: %+v bytes; modules %v", a.Sizes(), a.Modules())
	if n := a.Sizes().Total; n > 10e6 {
		t.Errorf("an initramfs of %d bytes", n)
	}
	archive := filepath.Join(t.TempDir(), "initramfs")
	f, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.WriteTo(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("guest: kernel %s, %d modules, port \"plimsoll\"", k.Version, len(a.Modules()))
	for _, image := range []string{k.Image, k.Packed} {
		began := time.Now()
		console := boot(t, qemu, image, archive)
		if !strings.Contains(console, want) {
			t.Fatalf("%s: the guest did not say %q but:\n%s", filepath.Base(image), want, console)
		}
		t.Logf("%s: %.1f s from start to power-off", filepath.Base(image), time.Since(began).Seconds())
	}
}

// boot runs a guest to its end and returns what it printed.
func boot(t *testing.T, qemu, image, archive string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, qemu, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-machine", "q35", "-accel", "tcg,thread=multi,tb-size=32", "-m", "256M", "-smp", "1",
		"-kernel", image, "-initrd", archive,
		"-append", "console=ttyS0 quiet loglevel=3 panic=-1 nokaslr mitigations=off random.trust_cpu=on cryptomgr.notests no_timer_check"+tscHint(),
		"-serial", "stdio", "-device", "virtio-serial-pci", "-chardev", "null,id=ch0", "-device", "virtserialport,chardev=ch0,name=plimsoll")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("the guest did not end within 60 s:\n%s", out)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// tscHint tells the guest the rate of the host's clock, which it cannot measure on
// a busy host.
func tscHint() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(io.LimitReader(f, 1<<20)); lines.Scan(); {
		var mhz float64
		if n, _ := fmt.Sscanf(lines.Text(), "cpu MHz\t\t: %f", &mhz); n == 1 {
			return fmt.Sprintf(" tsc=reliable tsc_early_khz=%.0f", mhz*1000)
		}
	}
	return ""
}
