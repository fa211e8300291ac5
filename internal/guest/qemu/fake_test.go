package qemu

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/kernel"
)

const mib = 1 << 20

func shape(cpus int) hardware.Shape {
	return hardware.Shape{Name: "web", CPU: hardware.CPU{Count: cpus}, Memory: hardware.Memory{Size: 512 * mib}}
}

const greeting = `{"QMP": {"version": {"qemu": {"micro": 22, "minor": 2, "major": 7}, "package": ""}, "capabilities": ["oob"]}}` + "\n"

// fakeQEMU begins the names of links to the test binary, each of which behaves as the rest of its name says. Beside it is
// the file by which a second start is known.
const fakeQEMU, fakeMark = "fake-qemu-", "mark"

// fakeBehaviour is how this process behaves if it was started as QEMU.
func fakeBehaviour() (is string, fake bool) {
	return strings.CutPrefix(filepath.Base(os.Args[0]), fakeQEMU)
}

// beQEMU is what the test binary does in place of QEMU.
func beQEMU(behaviour string) int {
	if slices.Contains(os.Args, "--version") {
		fmt.Println("QEMU emulator version 7.2.22")
		return 0
	}
	mark := filepath.Join(filepath.Dir(os.Args[0]), fakeMark)
	again := os.Rename(mark, mark+".seen") != nil
	fmt.Fprintln(os.Stderr, "qemu: warning: TCG doesn't support requested feature: CPUID.01H:ECX.x2apic")
	fmt.Print("Booting the kernel.\n")
	switch {
	case behaviour == "refuse":
		fmt.Fprintln(os.Stderr, "qemu: no such machine")
		return 1
	case behaviour == "hang", behaviour == "hang-once" && !again:
		<-time.After(24 * time.Hour) // waiting for nothing is a deadlock to a runtime without cgo
	case behaviour == "panic":
		return serve(false)
	}
	return serve(true)
}

func serve(opens bool) int {
	const monitor = 3 // the descriptor that the arguments name
	file := os.NewFile(monitor, "monitor")
	conn, err := net.FileConn(file)
	if err != nil {
		return 2
	}
	i := slices.IndexFunc(os.Args, func(a string) bool { return strings.HasPrefix(a, "socket,id=channel,") })
	_, path, _ := strings.Cut(os.Args[i], "path=")
	channel, err := net.Listen("unix", path)
	if err != nil {
		return 3
	}
	go echo(channel)
	fmt.Fprint(conn, greeting)
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		var c struct {
			Execute string
			ID      int
		}
		if json.Unmarshal(lines.Bytes(), &c) != nil {
			return 4
		}
		result := "{}"
		if c.Execute == "query-status" {
			result = `{"running": true}`
		}
		if c.Execute == "query-cpus-fast" {
			result = fmt.Sprintf(`[{"cpu-index": 1, "thread-id": %d}, {"cpu-index": 0, "thread-id": %d}]`, os.Getpid(), os.Getpid())
		}
		fmt.Fprintf(conn, `{"id": %d, "return": %s}`+"\n", c.ID, result)
		switch {
		case c.Execute == "quit", !opens:
			return 0
		case c.Execute == "qmp_capabilities":
			fmt.Fprintln(conn, `{"event": "VSERPORT_CHANGE", "data": {"open": true, "id": "other"}, "timestamp": {"seconds": 1, "microseconds": 1}}`)
			fmt.Fprintln(conn, `{"event": "VSERPORT_CHANGE", "data": {"open": true, "id": "port0"}, "timestamp": {"seconds": 1, "microseconds": 1}}`)
		}
	}
	return 5
}

func echo(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		b := make([]byte, 10)
		n, _ := c.Read(b)
		_, _ = c.Write(b[:n])
		_ = c.Close()
	}
}

func fakeOptions(t *testing.T, behaviour string) Options {
	t.Helper()
	dir, err := os.MkdirTemp("", "pq")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	mark, fake := filepath.Join(home, fakeMark), filepath.Join(home, fakeQEMU+behaviour)
	if err := errors.Join(os.WriteFile(mark, nil, 0o600), os.Symlink(own, fake)); err != nil {
		t.Fatal(err)
	}
	return Options{Kernel: &kernel.Kernel{Image: mark, Version: "6.1", Digest: "d"}, Initramfs: mark, Dir: dir, Binary: fake, Accelerator: hardware.TCG}
}

func TestStartAndStop(t *testing.T) {
	t.Parallel()
	o := fakeOptions(t, "good")
	s := shape(2)
	s.Disks = []hardware.Disk{{Name: "d", Size: mib, Controller: hardware.VirtioBlk, Backing: hardware.BackingFile}}
	g, err := Start(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	i, err := os.Stat(filepath.Join(g.wiring.Dir, "disk-d.img"))
	if err != nil || i.Size() != mib {
		t.Errorf("the disk's file: %v, %v", i, err)
	}
	conn, err := g.Channel(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 2)
	if _, err := conn.Write([]byte("hi")); err != nil {
		t.Error(err)
	}
	if _, err := conn.Read(b); err != nil || string(b) != "hi" || conn.Close() != nil {
		t.Errorf("%q, %v", b, err)
	}
	u, err := g.Inspect().Usage(t.Context())
	if err != nil || len(u.VCPUs) != 1 || u.VCPUs[0].ID != g.PID() || len(u.Others) == 0 {
		t.Errorf("usage %+v, %v", u, err)
	}
	if text, n := g.Complaints(); text != "" || n != 1 || string(g.Console()) != "Booting the kernel.\n" {
		t.Errorf("complaints %q and %d features, console %q", text, n, g.Console())
	}
	if err := g.Err(); err != nil {
		t.Errorf("a guest that runs has ended: %v", err)
	}
	if err := g.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if err := g.Stop(t.Context()); err != nil {
		t.Errorf("a second stop: %v", err)
	}
	if err := g.Err(); err == nil || !strings.Contains(err.Error(), "guest web has ended") {
		t.Errorf("%v", err)
	}
	if _, err := g.Channel(t.Context()); err == nil {
		t.Error("the channel of a stopped guest is dialled")
	}
	nothingLeft(t, g.process, o.Dir)
}

func nothingLeft(t *testing.T, p *process, dir string) {
	t.Helper()
	if p != nil {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", p.cmd.Process.Pid)); err == nil {
			t.Errorf("process %d is left", p.cmd.Process.Pid)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left in the scratch folder: %v, %v", left, err)
	}
}

func TestHungBootIsTriedOnceMore(t *testing.T) {
	t.Parallel()
	o := fakeOptions(t, "hang-once")
	o.BootTimeout = 500 * time.Millisecond
	g, err := Start(t.Context(), shape(1), o)
	if err != nil {
		t.Fatal(err)
	}
	f := g.Facts().Boot.Failed
	if len(f) != 1 || !strings.Contains(f[0], "did not open its channel") || !strings.Contains(f[0], "Booting the kernel") {
		t.Errorf("the first attempt is told as %q", f)
	}
	if err := g.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	nothingLeft(t, g.process, o.Dir)
}

func TestFailedStarts(t *testing.T) {
	t.Parallel()
	for behaviour, want := range map[string]string{
		"hang":   "boot web: the guest did not open its channel in",
		"refuse": "QEMU ended while the guest booted (exit status 1): qemu: no such machine",
		"panic":  "QEMU ended while the guest booted (exit status 0)",
	} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			o := fakeOptions(t, behaviour)
			o.BootTimeout = 5 * time.Second
			if behaviour == "hang" {
				o.BootTimeout = 200 * time.Millisecond
			}
			_, err := Start(t.Context(), shape(1), o)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want an error with %q", err, want)
			}
			nothingLeft(t, nil, o.Dir)
		})
	}
}

func TestStartRefuses(t *testing.T) {
	for want, change := range map[string]func(*Options, *hardware.Shape){
		"a kernel, an initramfs and a folder": func(o *Options, _ *hardware.Shape) { o.Kernel = nil },
		"install the package":                 func(o *Options, _ *hardware.Shape) { o.Binary = "no-such-qemu" },
		`accelerator "fast" is unknown`:       func(o *Options, _ *hardware.Shape) { o.Accelerator = "fast" },
		"topoext":                             func(_ *Options, s *hardware.Shape) { s.CPU = hardware.CPU{Count: 2, Threads: 2, Model: "EPYC"} },
		"is not a regular file": func(_ *Options, s *hardware.Shape) {
			s.Disks = []hardware.Disk{{Name: "d", Size: mib, Controller: hardware.VirtioBlk, Backing: hardware.BackingFile, Path: "/dev/null"}}
		},
		"enlarge it": func(o *Options, s *hardware.Shape) {
			s.Disks = []hardware.Disk{{Name: "d", Size: mib, Controller: hardware.VirtioBlk, Backing: hardware.BackingFile, Path: o.Initramfs}}
		},
	} {
		t.Run(want, func(t *testing.T) {
			o, s := fakeOptions(t, "good"), shape(1)
			change(&o, &s)
			_, err := Start(t.Context(), s, o)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want an error with %q", err, want)
			}
			nothingLeft(t, nil, o.Dir)
		})
	}
}

// Without time left for a shutdown, the guest is killed.
func TestStopWithoutTime(t *testing.T) {
	o := fakeOptions(t, "good")
	g, err := Start(t.Context(), shape(1), o)
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.Stop(ended); err != nil {
		t.Error(err)
	}
	nothingLeft(t, g.process, o.Dir)
}

func TestCancelledStartLeavesNothing(t *testing.T) {
	t.Parallel()
	o := fakeOptions(t, "hang")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	begun := time.Now()
	if _, err := Start(ctx, shape(1), o); err == nil || time.Since(begun) > 3*time.Second {
		t.Errorf("%v after %v", err, time.Since(begun))
	}
	nothingLeft(t, nil, o.Dir)
}

// QEMU without its driver for images is told from one that looks for a cluster.
func TestHasImages(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if err := HasImages(t.Context()); err == nil || !strings.Contains(err.Error(), "qemu-system-x86") {
		t.Errorf("without QEMU: %v", err)
	}
	for said, want := range map[string]string{
		"error reading conf file /nonexistent/ceph.conf: No such file or directory": "",
		"Unknown driver 'rbd'": "QEMU cannot open images of a Ceph cluster: apt install qemu-block-extra (or dnf install qemu-block-rbd): Unknown driver 'rbd'",
	} {
		script := "#!/bin/sh\necho \"" + said + "\" >&2\nexit 1\n"
		if err := os.WriteFile(filepath.Join(dir, Binary), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := HasImages(t.Context()); want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
