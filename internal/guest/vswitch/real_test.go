package vswitch

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// within runs f on a thread in a network namespace; the thread ends with it.
func within(namespace string, f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked, so that nothing else runs there
		done <- func() error {
			file, err := os.Open("/run/netns/" + namespace)
			if err != nil {
				return err
			}
			defer file.Close()
			if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
				return err
			}
			return f()
		}()
	}()
	return <-done
}

// tap creates a TAP device in a namespace, and copies its frames to and from the socket as
// QEMU does.
func tap(t *testing.T, namespace, path, at string) {
	t.Helper()
	run(t, "ip", "netns", "add", namespace)
	t.Cleanup(func() { run(t, "ip", "netns", "del", namespace) })
	var file *os.File
	err := within(namespace, func() error {
		fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		request, err := unix.NewIfreq("tap0")
		if err != nil {
			return err
		}
		request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
		if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
			return err
		}
		file = os.NewFile(uintptr(fd), "tap")
		return nil
	})
	if err != nil {
		t.Skipf("no TAP device in a namespace: %v", err)
	}
	run(t, "ip", "-n", namespace, "addr", "add", at, "dev", "tap0")
	run(t, "ip", "-n", namespace, "link", "set", "tap0", "up")
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); file.Close() })
	go func() {
		b := make([]byte, prefix+LongestFrame)
		for {
			n, err := file.Read(b[prefix:])
			if err != nil {
				return
			}
			binary.BigEndian.PutUint32(b, uint32(n))
			if _, err := conn.Write(b[:prefix+n]); err != nil {
				return
			}
		}
	}()
	go func() {
		b := make([]byte, prefix+LongestFrame)
		for {
			if _, err := io.ReadFull(conn, b[:prefix]); err != nil {
				return
			}
			frame := b[:binary.BigEndian.Uint32(b)]
			if _, err := io.ReadFull(conn, frame); err != nil {
				return
			}
			_, _ = file.Write(frame)
		}
	}()
}

func run(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(argv, " "), err, out)
	}
	return string(out)
}

// TestRealNamespaces has the kernels' own ARP, ping and TCP talk through the switch.
func TestRealNamespaces(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to make network namespaces with TAP devices and remove them")
	}
	if os.Getuid() != 0 {
		t.Skip("run as root to make network namespaces")
	}
	for _, tool := range []string{"ip", "ping"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not installed")
		}
	}
	dir := t.TempDir()
	s := New(Options{})
	var plugs []*Plug
	for _, name := range []string{"a", "b"} {
		p, err := s.Plug(t.Context(), name, filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		plugs = append(plugs, p)
	}

	pid := os.Getpid()
	one, two := fmt.Sprintf("plv%da", pid), fmt.Sprintf("plv%db", pid)
	tap(t, one, plugs[0].Socket, "10.91.0.1/24")
	tap(t, two, plugs[1].Socket, "10.91.0.2/24")
	t.Log(lastLines(run(t, "ip", "netns", "exec", one, "ping", "-c", "20", "-i", "0.01", "-w", "10", "10.91.0.2")))
	run(t, "ip", "netns", "exec", two, "ping", "-c", "2", "-s", "1400", "-w", "10", "10.91.0.1")
	bulk(t, one, two)

	for _, p := range plugs {
		if err := p.Pull(); err != nil {
			t.Error(err)
		}
		c := p.Counters()
		t.Logf("%+v", c)
		if c.Received < 22 || c.Sent < 22 || c.InvalidSource != 0 {
			t.Errorf("port %s counts %+v", p.name, c)
		}
	}
	s.Close()
}

func lastLines(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-2):], "\n")
}

// bulk sends 64 MiB over TCP and compares what arrives.
func bulk(t *testing.T, one, two string) {
	t.Helper()
	const size = 64 << 20
	var l net.Listener
	if err := within(two, func() (err error) { l, err = net.Listen("tcp", "10.91.0.2:0"); return err }); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got := make(chan [sha256.Size]byte, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		h := sha256.New()
		_, _ = io.Copy(h, conn)
		got <- [sha256.Size]byte(h.Sum(nil))
	}()
	var conn net.Conn
	if err := within(one, func() (err error) { conn, err = net.Dial("tcp", l.Addr().String()); return err }); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	h := sha256.New()
	block := make([]byte, 64<<10)
	for n := 0; n < size; n += len(block) {
		for i := range block {
			block[i] = byte(n>>16 + i*7)
		}
		h.Write(block)
		if _, err := conn.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	conn.Close()
	select {
	case sum := <-got:
		if sum != [sha256.Size]byte(h.Sum(nil)) {
			t.Error("other bytes arrived than were sent")
		}
	case <-time.After(40 * time.Second):
		t.Fatal("the bytes do not arrive")
	}
	t.Logf("64 MiB over TCP: %.0f MB/s", size/time.Since(begin).Seconds()/1e6)
}

// TestRealQEMU has the boot firmware of a guest, which looks for a server by broadcast, send through the switch. The guest has no disk
// and nothing to boot.
func TestRealQEMU(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to start QEMU")
	}
	const program = "qemu-system-x86_64"
	if _, err := exec.LookPath(program); err != nil {
		t.Skip(program + " is not installed")
	}
	if roms, err := filepath.Glob("/usr/lib/ipxe/qemu/pxe-virtio.rom"); err != nil || len(roms) == 0 {
		t.Skip("the boot firmware ipxe-qemu is not installed")
	}
	s := New(Options{})
	p, err := s.Plug(t.Context(), "guest", filepath.Join(t.TempDir(), "port"))
	if err != nil {
		t.Fatal(err)
	}
	listener := connect(t, s, "listener")
	cmd := exec.Command(program, "-nodefaults", "-no-user-config", "-display", "none", "-machine", "pc", "-accel", "tcg", "-m", "64M", "-boot", "n",
		"-netdev", "stream,id=n0,server=off,addr.type=unix,addr.path="+p.Socket, "-device", "virtio-net-pci,netdev=n0,mac=52:54:00:12:34:56")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	until(t, func() bool { listener.mu.Lock(); defer listener.mu.Unlock(); return len(listener.got) >= 2 })
	for _, f := range listener.taken() {
		if source := addressAt(f[6:]); source != 0x525400123456 {
			t.Errorf("a frame from %012x", source)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return s.Port("guest") == nil })
	if s.addresses() != 0 {
		t.Error("something of the guest is left in the switch")
	}
	if err := p.Pull(); err != nil {
		t.Error(err)
	}
	s.Close()
}
