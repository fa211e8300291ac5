package boot_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/internal/agent/remote"
	"plimsoll/internal/guest/guesttest"
	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/initramfs"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/platform"
)

// booted is a guest with the agent as init.
func booted(t *testing.T, parameters ...string) *qemu.Guest {
	t.Helper()
	k := guesttest.Kernel(t)
	dir, err := os.MkdirTemp("", "pb") // a short path, because socket paths are limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	program := filepath.Join(dir, "plimsoll-agent")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.version=real", "-o", program, "plimsoll/cmd/plimsoll-agent")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	image := filepath.Join(dir, "initramfs")
	f, err := os.Create(image)
	if err != nil {
		t.Fatal(err)
	}
	if err := initramfs.Build(f, initramfs.Spec{Init: program, Kernel: k, Modules: []string{"channel", "network"}}); err != nil {
		t.Fatal(err)
	}
	if info, err := f.Stat(); err == nil {
		t.Logf("initramfs: %d bytes", info.Size())
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	g, err := qemu.Start(t.Context(), hardware.Shape{
		Name: "boot", CPU: hardware.CPU{Count: 1}, Memory: hardware.Memory{Size: 256 << 20}, Parameters: parameters,
	}, qemu.Options{Kernel: k, Initramfs: image, Dir: dir, Accelerator: hardware.TCG})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		_ = g.Stop(ctx)
		t.Logf("console:\n%s", g.Console())
	})
	t.Logf("the port opened after %s", time.Since(begun).Round(time.Millisecond))
	return g
}

func join(t *testing.T, g *qemu.Guest) *remote.Machine {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	conn, err := g.Channel(ctx)
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	m, err := remote.Connect(ctx, conn)
	if err != nil {
		t.Fatalf("%v\n%s", err, g.Console())
	}
	t.Logf("joined after %s", time.Since(begun).Round(time.Millisecond))
	return m
}

func output(t *testing.T, m *remote.Machine, argv ...string) string {
	t.Helper()
	r, err := m.Run(t.Context(), platform.Command{Argv: argv})
	if err != nil || r.Exit != 0 {
		t.Errorf("%q: exit %d, %q, %v", argv, r.Exit, r.Stderr, err)
	}
	return strings.TrimSpace(string(r.Stdout))
}

func TestRealGuest(t *testing.T) {
	g := booted(t, "plimsoll.name=web-3", "plimsoll.addr=lo=10.9.0.2/24")
	m := join(t, g)
	if m.Name() != "web-3" || m.Version() != "real" {
		t.Errorf("name %q, version %q", m.Name(), m.Version())
	}
	if _, err := m.ReadFile(t.Context(), "/absent"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent file: %v", err)
	}
	if text, err := m.ReadFile(t.Context(), "/proc/net/fib_trie"); err != nil || !bytes.Contains(text, []byte("10.9.0.2")) {
		t.Errorf("the address is not there: %v", err)
	}
	if got := output(t, m, "nproc"); got != "1" {
		t.Errorf("nproc says %q", got)
	}
	if err := m.Confine(t.Context(), platform.Confinement{Quota: "0.5"}); err != nil {
		t.Errorf("confine: %v", err)
	}
	r, err := m.Run(t.Context(), platform.Command{Argv: []string{"cat", "/proc/self/cgroup"}, Worker: true})
	if err != nil || !strings.Contains(string(r.Stdout), "plimsoll-") {
		t.Errorf("a worker's control group is %q, %v", r.Stdout, err)
	}
	// A round trip of a megabyte.
	text := bytes.Repeat([]byte("what goes in comes out\n"), 50000)
	begun := time.Now()
	r, err = m.Run(t.Context(), platform.Command{Argv: []string{"cat"}, Stdin: bytes.NewReader(text)})
	if err != nil || !bytes.Equal(r.Stdout, text) {
		t.Errorf("%d bytes in, %d out, %v", len(text), len(r.Stdout), err)
	}
	t.Logf("round trip of %d bytes in %s", len(text), time.Since(begun).Round(time.Millisecond))
	begun = time.Now()
	const calls = 200
	for range calls {
		if _, err := m.ReadFile(t.Context(), "/proc/loadavg"); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("a file in %s", (time.Since(begun) / calls).Round(time.Microsecond))

	m = chattyLabGoes(t, g, m)

	// The lab disconnects during a command. After the next connection, the command is gone.
	pid := make(chan string, 1)
	gone := make(chan error, 1)
	go func() {
		_, err := m.Run(context.Background(), platform.Command{Argv: []string{"cat", "/proc/self/stat", "-"}, Stdin: endless{t.Context()}, Stdout: first(pid)})
		gone <- err
	}()
	id := <-pid
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if err := <-gone; err == nil {
		t.Error("a command survived its lab")
	}
	m = join(t, g)
	if _, err := m.ReadFile(t.Context(), "/proc/"+id+"/stat"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("process %s goes on: %v", id, err)
	}
	if c := m.Confinement(); c != (platform.Confinement{}) {
		t.Errorf("the workers stayed confined: %+v", c)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	begun = time.Now()
	if err := m.End(ctx); err != nil || ctx.Err() != nil {
		t.Errorf("end: %v", errors.Join(err, ctx.Err()))
	}
	t.Logf("the end was heard in %s", time.Since(begun).Round(time.Millisecond))
	for exists(g.PID()) && ctx.Err() == nil {
		<-time.After(20 * time.Millisecond)
	}
	if ctx.Err() != nil {
		t.Error("the guest does not power off")
	}
	t.Logf("powered off in %s", time.Since(begun).Round(time.Millisecond))
}

// chattyLabGoes disconnects during a long output, so that the port's buffer is full, and
// connects again.
func chattyLabGoes(t *testing.T, g *qemu.Guest, m *remote.Machine) *remote.Machine {
	t.Helper()
	for range 3 {
		var took atomic.Int64
		enough := make(chan struct{})
		gone := make(chan error, 1)
		begun := time.Now()
		go func() {
			_, err := m.Run(context.Background(), platform.Command{Argv: []string{"cat", "/dev/zero"}, Stdout: counted(func(n int) {
				if before := took.Add(int64(n)); before >= 4<<20 && before-int64(n) < 4<<20 {
					close(enough)
				}
			})})
			gone <- err
		}()
		<-enough
		t.Logf("output at %.1f MB/s", float64(took.Load())/time.Since(begun).Seconds()/1e6)
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		if err := <-gone; err == nil {
			t.Error("a command survived its lab")
		}
		m = join(t, g)
	}
	return m
}

// counted counts what is written.
type counted func(n int)

func (c counted) Write(p []byte) (int, error) { c(len(p)); return len(p), nil }

func exists(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !bytes.Contains(text, []byte(") Z "))
}

// endless is standard input without end.
type endless struct{ ctx context.Context }

func (e endless) Read([]byte) (int, error) { <-e.ctx.Done(); return 0, e.ctx.Err() }

// first hands on the first word of an output.
type first chan string

func (f first) Write(p []byte) (int, error) {
	word, _, _ := strings.Cut(string(p), " ")
	select {
	case f <- word:
	default:
	}
	return len(p), nil
}
