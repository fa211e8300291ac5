package qemu

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/guest/guesttest"
	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/kernel"
)

// rig is the guest of the real tests: a kernel and a small init with its modules.
type rig struct {
	options Options
}

// real skips the test where there is no leave, no QEMU or no kernel.
func real(t *testing.T) rig {
	t.Helper()
	k := guesttest.Kernel(t)
	dir := t.TempDir()
	initramfs := filepath.Join(dir, "initramfs")
	if err := os.WriteFile(initramfs, initramfsOf(t, k), 0o644); err != nil {
		t.Fatal(err)
	}
	scratch, err := os.MkdirTemp("", "pq") // a short path, because socket paths are limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(scratch); err != nil {
			t.Error(err)
		}
	})
	return rig{Options{Kernel: k, Initramfs: initramfs, Dir: scratch, Accelerator: hardware.TCG}}
}

// builtInit is the init, built once for all tests.
var builtInit = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "plimsoll-test-init")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "init")
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", program, "./testdata/init")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return os.ReadFile(program)
})

func initramfsOf(t *testing.T, k *kernel.Kernel) []byte {
	t.Helper()
	init, err := builtInit()
	if err != nil {
		t.Fatal(err)
	}
	var w archive
	w.add("init", 0o100755, init)
	w.add("mods", 0o40755, nil)
	var order []string
	for _, m := range []string{"virtio_ring", "virtio_pci_modern_dev", "virtio_pci_legacy_dev", "virtio", "virtio_pci", "virtio_console", "virtio_blk", "scsi_common", "scsi_mod", "virtio_scsi", "sd_mod"} {
		err := filepath.WalkDir(k.Modules, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Name() == m+".ko" {
				text, err := os.ReadFile(path)
				w.add("mods/"+d.Name(), 0o100644, text)
				order = append(order, d.Name())
				return err
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	w.add("mods/order", 0o100644, []byte(strings.Join(order, "\n")))
	w.add("TRAILER!!!", 0, nil)
	return w.Bytes()
}

// archive is a cpio archive in the kernel's format.
type archive struct{ bytes.Buffer }

func (a *archive) add(name string, mode int, data []byte) {
	fmt.Fprintf(a, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00",
		a.Len()+1, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name)+1, 0, name)
	a.pad()
	a.Write(data)
	a.pad()
}

func (a *archive) pad() {
	for a.Len()%4 != 0 {
		a.WriteByte(0)
	}
}

// line talks to the init of a guest.
type line struct {
	conn net.Conn
	in   *bufio.Reader
}

func dial(t *testing.T, g *Guest) *line {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, err := g.Channel(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &line{conn, bufio.NewReader(conn)}
}

func (l *line) ask(command string) (string, error) {
	if err := l.conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintln(l.conn, command); err != nil {
		return "", err
	}
	answer, err := l.in.ReadString('\n')
	if err != nil {
		return "", err
	}
	return strconv.Unquote(strings.TrimSpace(answer))
}

// ReadFile reads a file of the guest.
func (l *line) ReadFile(name string) ([]byte, error) {
	text, err := l.ask("read " + name)
	if err == strconv.ErrSyntax {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return []byte(text), err
}

func start(t *testing.T, r rig, s hardware.Shape) *Guest {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 55*time.Second)
	defer cancel()
	g, err := Start(ctx, s, r.options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return g
}

func TestBootOneVCPU(t *testing.T) {
	r := real(t)
	g := start(t, r, hardware.Shape{Name: "one", CPU: hardware.CPU{Count: 1}, Memory: hardware.Memory{Size: 128 * mib}})
	l := dial(t, g)
	online, err := l.ReadFile("/sys/devices/system/cpu/online")
	if err != nil || strings.TrimSpace(string(online)) != "0" {
		t.Errorf("online %q, %v", online, err)
	}
	text, features := g.Complaints()
	if features == 0 || strings.Contains(text, "TCG doesn't") {
		t.Errorf("complaints %q, %d features: the lines of TCG are to be counted and left out", text, features)
	}
	u, err := g.Inspect().Usage(t.Context())
	if err != nil || len(u.VCPUs) != 1 || u.VCPUs[0].Run <= 0 || len(u.Others) == 0 {
		t.Errorf("usage %+v, %v", u, err)
	}
	t.Logf("boot %+v, vCPU %+v, console %q, %d features", g.Facts().Boot, u.VCPUs[0], g.Console(), features)
	pid, dir := g.PID(), g.wiring.Dir
	if err := l.conn.Close(); err != nil {
		t.Error(err)
	}
	begun := time.Now()
	if err := g.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Logf("stopped in %v: %v", time.Since(begun), g.process.cmd.ProcessState)
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
		t.Errorf("process %d is left", pid)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Errorf("%s is left", dir)
	}
	if left, _ := os.ReadDir(r.options.Dir); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}
