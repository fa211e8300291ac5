package boot

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestCommandLine(t *testing.T) {
	w, err := readWishes("console=ttyS0 quiet plimsoll.name=web-3 plimsoll.addr=eth0=10.9.0.2/24 plimsoll.addr=eth1=fd00::2/64\n")
	if err != nil || w.name != "web-3" || len(w.addresses) != 2 || w.addresses[1] != (address{"eth1", netip.MustParsePrefix("fd00::2/64")}) {
		t.Errorf("got %+v, %v", w, err)
	}
	if w, err := readWishes("quiet"); err != nil || w.name != "guest" || len(w.addresses) != 0 {
		t.Errorf("got %+v, %v", w, err)
	}
	for _, bad := range []string{"plimsoll.addr=", "plimsoll.addr=eth0", "plimsoll.addr=eth0=10.9.0.2", "plimsoll.addr=../x=10.0.0.1/8", "plimsoll.name=", "plimsoll.name=a/b"} {
		if _, err := readWishes(bad); err == nil || !strings.Contains(err.Error(), "command line") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func FuzzCommandLine(f *testing.F) {
	f.Add("plimsoll.name=web plimsoll.addr=eth0=10.9.0.2/24")
	f.Fuzz(func(t *testing.T, line string) {
		w, err := readWishes(line)
		if err != nil {
			return
		}
		for _, a := range w.addresses {
			if !a.prefix.IsValid() || strings.ContainsAny(a.device, "/ ") {
				t.Errorf("%q passed as %+v", line, a)
			}
		}
	})
}

func TestModules(t *testing.T) {
	dir := t.TempDir()
	if n, err := loadModules(dir); n != 0 || err != nil {
		t.Errorf("without a list: %d, %v", n, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "order"), []byte("absent.ko\n\nother.ko\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	n, err := loadModules(dir)
	if n != 0 || err == nil || !strings.Contains(err.Error(), "absent.ko") || !strings.Contains(err.Error(), "other.ko") {
		t.Errorf("got %d, %v", n, err)
	}
}

func TestFindPort(t *testing.T) {
	dir := t.TempDir()
	for device, name := range map[string]string{"vport1p1": "org.qemu.guest_agent.0\n", "vport1p2": "plimsoll\n"} {
		if err := os.MkdirAll(filepath.Join(dir, device), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, device, "name"), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := findPort(t.Context(), dir, "plimsoll"); err != nil || got != "/dev/vport1p2" {
		t.Errorf("got %q, %v", got, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := findPort(ctx, dir, "nobody"); err == nil || !strings.Contains(err.Error(), "virtio_console") {
		t.Errorf("got %v", err)
	}
}

// A port with a detached host reports the end of the connection. A lab may still connect.
func TestAttachedWaits(t *testing.T) {
	name := filepath.Join(t.TempDir(), "port")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := openPort(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 1)
	go func() {
		b := make([]byte, 16)
		n, _ := a.Read(b)
		got <- string(b[:n])
	}()
	select {
	case text := <-got:
		t.Fatalf("read %q from a port without a lab", text)
	case <-time.After(3 * attachDelay):
	}
	if err := os.WriteFile(name, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text := <-got; text != "hello" {
		t.Errorf("read %q", text)
	}
	if _, err := a.Read(make([]byte, 1)); err == nil {
		t.Error("the end after a lab has spoken is no end")
	}
	b, err := openPort(t.Context(), os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { _, err := b.Read(make([]byte, 1)); ended <- err }()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("a closed port gave something")
	}
}

func TestNetlinkMessages(t *testing.T) {
	b := addressMessage(3, netip.MustParsePrefix("10.9.0.2/24"))
	if n := binary.NativeEndian.Uint32(b); int(n) != len(b) || len(b) != 16+8+8+8 {
		t.Errorf("length %d of %d", n, len(b))
	}
	want := []byte{unix.AF_INET, 24, 0, 0, 3, 0, 0, 0, 8, 0, unix.IFA_LOCAL, 0, 10, 9, 0, 2, 8, 0, unix.IFA_ADDRESS, 0, 10, 9, 0, 2}
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 && !slices.Equal(b[16:], want) {
		t.Errorf("got % x, want % x", b[16:], want)
	}
	refusal := message(unix.NLMSG_ERROR, 0, binary.NativeEndian.AppendUint32(nil, ^uint32(unix.EPERM)+1))
	if err := acknowledged(refusal); !errors.Is(err, unix.EPERM) {
		t.Errorf("got %v", err)
	}
	if err := acknowledged(nil); err == nil {
		t.Error("no answer is an agreement")
	}
}

// In a network namespace of its own, so that the machine's network is unchanged.
func TestAddressesAreGiven(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root for a network namespace")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never back: the thread ends in its namespace
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			t.Logf("not tested, network namespaces are refused: %v", err)
			return
		}
		for range 2 {
			if err := bringUp(t.Context(), []address{{"lo", netip.MustParsePrefix("10.9.0.2/24")}}); err != nil {
				t.Error(err)
				return
			}
		}
		lo, err := net.InterfaceByName("lo")
		if err != nil {
			t.Error(err)
			return
		}
		list, err := lo.Addrs()
		if err != nil || !strings.Contains(joined(list), "10.9.0.2/24") || !strings.Contains(joined(list), "127.0.0.1/8") || lo.Flags&net.FlagUp == 0 {
			t.Errorf("addresses %s, flags %s, %v", joined(list), lo.Flags, err)
		}
	}()
	<-done
}

func joined(list []net.Addr) string {
	var s []string
	for _, a := range list {
		s = append(s, a.String())
	}
	return strings.Join(s, " ")
}

func TestZombies(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	deadline := time.After(10 * time.Second)
	for {
		found := false
		for p := range zombies("/proc", os.Getpid()) {
			found = found || p.pid == cmd.Process.Pid
		}
		if found {
			break
		}
		select {
		case <-deadline:
			t.Fatal("a dead child was not found")
		case <-time.After(5 * time.Millisecond):
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	for p := range zombies("/proc", os.Getpid()) {
		if p.pid == cmd.Process.Pid {
			t.Error("a child that was waited for is still found")
		}
	}
	if n := len(zombies("/proc", syscall.Getppid())); n > 100 {
		t.Errorf("%d zombies of another", n)
	}
}
