package qemu

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/nbd"
)

// Every controller supports every cache mode, and the guest sees a write cache if there is
// one.
func TestGuestsSeeTheirDisks(t *testing.T) {
	r := real(t)
	s := hardware.Shape{Name: "disks", CPU: hardware.CPU{Count: 1}, Memory: hardware.Memory{Size: 192 * mib}}
	volatile := map[string]bool{}
	for _, c := range []hardware.Controller{hardware.VirtioBlk, hardware.VirtioSCSI, hardware.NVMe} {
		for i, cache := range []string{"none", "writeback", "writethrough", "directsync", "unsafe"} {
			d := hardware.Disk{Name: fmt.Sprintf("%s-%d", c, i), Size: int64(i+1) * mib, Controller: c, Backing: hardware.BackingFile, Cache: cache}
			d.AIO = []string{"native", "threads", "io_uring", "native", "io_uring"}[i]
			d.Queues = i % 2
			d.IOThread = c != hardware.NVMe && i < 2
			s.Disks, volatile[d.Name] = append(s.Disks, d), c == hardware.NVMe || d.Volatile()
		}
	}
	g := start(t, r, s)
	l := dial(t, g)
	defer l.conn.Close()
	if text, _ := g.Complaints(); text != "" {
		t.Errorf("QEMU complains: %s", text)
	}
	names, err := l.ask("list /sys/block/*")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for block := range strings.FieldsSeq(names) {
		read := func(name string) string {
			b, _ := l.ReadFile(block + "/" + name)
			return strings.TrimSpace(string(b))
		}
		serial := read("serial")
		if serial == "" {
			serial = read("device/serial")
		}
		if strings.HasPrefix(filepath.Base(block), "sd") {
			// A page of the vital product data: four bytes, then the serial number.
			if page := read("device/vpd_pg80"); len(page) > 4 {
				serial = page[4:]
			}
		}
		want, ours := volatile[serial]
		if !ours {
			continue
		}
		seen++
		var i int64
		if _, err := fmt.Sscan(serial[strings.LastIndexByte(serial, '-')+1:], &i); err != nil {
			t.Fatal(err)
		}
		if got := read("size"); got != fmt.Sprint((i+1)*mib/512) {
			t.Errorf("%s has %s sectors", serial, got)
		}
		if got := read("queue/write_cache"); got != map[bool]string{true: "write back", false: "write through"}[want] {
			t.Errorf("%s, cache %s: the guest is told %q", serial, s.Disks[i].Cache, got)
		}
	}
	if seen != len(s.Disks) {
		t.Errorf("%d of %d disks are seen in %s", seen, len(s.Disks), names)
	}
}

// A disk of an NBD server and a card at a switch work over their sockets.
func TestGuestReachesItsSockets(t *testing.T) {
	r := real(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	listen := func(name string) net.Listener {
		l, err := net.Listen("unix", filepath.Join(r.options.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	cable := listen("s.sock")
	image := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(image, make([]byte, 8*mib), 0o600); err != nil {
		t.Fatal(err)
	}
	in, keep := io.Pipe()
	said, out := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- nbd.Serve(ctx, in, out) }()
	if _, err := keep.Write(nbd.Order{Path: filepath.Join(r.options.Dir, "n.sock"), File: image}.Line()); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(said).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	plugged := make(chan error, 1)
	go func() {
		c, err := cable.Accept()
		if err == nil {
			err = c.SetDeadline(time.Now().Add(time.Minute))
			t.Cleanup(func() { _ = c.Close() })
		}
		plugged <- err
	}()
	g := start(t, r, hardware.Shape{Name: "sockets", CPU: hardware.CPU{Count: 1}, Memory: hardware.Memory{Size: 128 * mib},
		Disks: []hardware.Disk{{Name: "far", Controller: hardware.VirtioBlk, Backing: hardware.BackingNBD, Socket: filepath.Join(r.options.Dir, "n.sock")}},
		NICs:  []hardware.NIC{{Name: "a", Model: hardware.VirtioNet, Socket: filepath.Join(r.options.Dir, "s.sock")}}})
	if err := <-plugged; err != nil {
		t.Errorf("the card was not plugged in: %v", err)
	}
	l := dial(t, g)
	defer l.conn.Close()
	if size, err := l.ask("read /sys/block/vda/size"); err != nil || strings.TrimSpace(size) != "16384" {
		t.Errorf("the disk behind the server has %q sectors, %v", size, err)
	}
}
