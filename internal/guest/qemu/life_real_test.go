package qemu

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/kernel"
	"plimsoll/internal/guest/outpost"
	"plimsoll/internal/load/loadtest"
)

const helperOptions = "PLIMSOLL_TEST_GUEST"

// TestMain is also the helper process that starts a guest and is killed.
func TestMain(m *testing.M) {
	if text := os.Getenv(helperOptions); text != "" {
		os.Exit(helper(text))
	}
	if len(os.Args) == 2 && os.Args[1] == outpost.Command {
		if err := outpost.Serve(nil, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if behaviour, fake := fakeBehaviour(); fake {
		os.Exit(beQEMU(behaviour))
	}
	os.Exit(m.Run())
}

type helperInput struct {
	Kernel         *kernel.Kernel
	Initramfs, Dir string
}

func helper(text string) int {
	var in helperInput
	err := json.Unmarshal([]byte(text), &in)
	if err == nil {
		var g *Guest
		g, err = Start(context.Background(), hardware.Shape{Name: "orphan", CPU: hardware.CPU{Count: 1}, Memory: hardware.Memory{Size: 128 * mib}},
			Options{Kernel: in.Kernel, Initramfs: in.Initramfs, Dir: in.Dir, Accelerator: hardware.TCG})
		if err == nil {
			fmt.Println(g.PID())
			select {}
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func TestKilledLabLeavesNoGuest(t *testing.T) {
	r := real(t)
	text, err := json.Marshal(helperInput{r.options.Kernel, r.options.Initramfs, r.options.Dir})
	if err != nil {
		t.Fatal(err)
	}
	lab := exec.Command(os.Args[0])
	lab.Env, lab.Stderr = append(os.Environ(), helperOptions+"="+string(text)), os.Stderr
	out, err := lab.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := lab.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the helper started no guest: %v, %v", err, lab.Wait())
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	qemu, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatalf("QEMU %d does not run: %v", pid, err)
	}
	defer unix.Close(qemu)
	if err := lab.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	const patience = 5 * time.Second
	n, err := 0, error(unix.EINTR)
	for err == unix.EINTR && time.Since(begun) < patience { // signals of the Go runtime interrupt it
		n, err = unix.Poll([]unix.PollFd{{Fd: int32(qemu), Events: unix.POLLIN}}, int((patience - time.Since(begun)).Milliseconds()))
	}
	if n != 1 {
		t.Errorf("QEMU %d is left 5 s after kill -9 of the process that started it (%v)", pid, err)
	}
	t.Logf("QEMU %d ended %v after its parent was killed", pid, time.Since(begun))
	if err := lab.Wait(); err == nil {
		t.Error("the helper ended well")
	}
}

func TestMigration(t *testing.T) {
	r := real(t)
	if err := MayPostcopy(); err != nil {
		t.Skip(err)
	}
	disk := filepath.Join(r.options.Dir, "disk.img") // which both sides open
	if err := os.WriteFile(disk, make([]byte, mib), 0o600); err != nil {
		t.Fatal(err)
	}
	s := hardware.Shape{Name: "traveller", CPU: hardware.CPU{Count: 1}, Memory: hardware.Memory{Size: 128 * mib},
		Disks: []hardware.Disk{{Name: "d", Size: mib, Controller: hardware.VirtioBlk, Backing: hardware.BackingFile, Path: disk}}}
	from := start(t, r, s)
	l := dial(t, from)
	before, err := l.ask("read /proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.conn.Close(); err != nil {
		t.Error(err)
	}
	r.options.Incoming = true
	to := start(t, r, s)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := from.Migrate(ctx, to, "teleport"); err == nil || !strings.Contains(err.Error(), "precopy or postcopy") {
		t.Errorf("%v", err)
	}
	if _, err := to.Migrate(ctx, from, Postcopy); err == nil || !strings.Contains(err.Error(), "Incoming") {
		t.Errorf("%v", err)
	}
	m, err := from.Migrate(ctx, to, Postcopy)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", m)
	if m.Total <= 0 || m.Stopped <= 0 || m.Stopped > m.Total+time.Second || m.Transferred < mib {
		t.Errorf("the migration has no sense: %+v", m)
	}
	l = dial(t, to)
	after, err := l.ask("read /proc/sys/kernel/random/boot_id")
	if err != nil || after != before || after == "" {
		t.Errorf("the guest was %q and is %q, %v", before, after, err)
	}
	if size, err := l.ask("read /sys/block/vda/size"); err != nil || size != "2048\n" {
		t.Errorf("its disk has %q sectors, %v", size, err)
	}
	if err := from.Stop(ctx); err != nil {
		t.Error(err)
	}

	// A guest that is busy now may not go on by precopy with this QEMU.
	if _, err := l.ask("spin"); err != nil {
		t.Fatal(err)
	}
	if err := l.conn.Close(); err != nil {
		t.Error(err)
	}
	if !to.Facts().Version.Before(10, 0) {
		return
	}
	next := start(t, r, s)
	if _, err := to.Migrate(ctx, next, Precopy); err == nil || !strings.Contains(err.Error(), "refused, as the guest is busy") {
		t.Errorf("precopy of a busy guest: %v", err)
	} else {
		t.Log(err)
	}
	if m, err = to.Migrate(ctx, next, Postcopy); err != nil {
		t.Fatal(err)
	}
	t.Logf("busy: %+v", m)
	if got, err := dial(t, next).ask("read /proc/sys/kernel/random/boot_id"); err != nil || got != before {
		t.Errorf("the guest was %q and is %q, %v", before, got, err)
	}
}

func TestPrecopyOfAnIdleGuest(t *testing.T) {
	idle := real(t)
	waiting := idle
	waiting.options.Incoming = true
	s := hardware.Shape{Name: "idle", CPU: hardware.CPU{Count: 1}, Memory: hardware.Memory{Size: 128 * mib}}
	// A guest has things to do for a moment after its boot, and is refused until then. Its
	// init is at rest once its port is open on both sides.
	loadtest.Calm(t, func() error {
		from, to := start(t, idle, s), start(t, waiting, s)
		asked := dial(t, from)
		defer asked.conn.Close() //nolint:errcheck // the guest has left
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		m, err := from.Migrate(ctx, to, Precopy)
		for err != nil && strings.Contains(err.Error(), "the guest is busy") && ctx.Err() == nil {
			m, err = from.Migrate(ctx, to, Precopy)
		}
		if ctx.Err() != nil {
			return errors.Join(err, from.Stop(t.Context()), to.Stop(t.Context()))
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%+v", m)
		if d := m.Stopped - m.Downtime; d < -50*time.Millisecond || d > 200*time.Millisecond {
			return fmt.Errorf("QEMU tells a downtime of %v, its events one of %v", m.Downtime, m.Stopped)
		}
		l := dial(t, to)
		if _, err := l.ask("read /proc/uptime"); err != nil {
			t.Error(err)
		}
		if err := l.conn.Close(); err != nil {
			t.Error(err)
		}
		return nil
	})
}

func TestGuestHasItsDevices(t *testing.T) {
	r := real(t)
	given := filepath.Join(r.options.Dir, "a,b.img")
	if err := os.WriteFile(given, make([]byte, 4*mib), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(given) })
	s := hardware.Shape{Name: "full", CPU: hardware.CPU{Count: 2}, Memory: hardware.Memory{Size: 256 * mib}, Pin: []string{"0", "1"},
		Disks: []hardware.Disk{
			{Name: "first", Size: 8 * mib, Controller: hardware.VirtioBlk, Backing: hardware.BackingFile, AIO: "native", IOThread: true, Queues: 2},
			{Name: "second", Size: 4 * mib, Controller: hardware.VirtioSCSI, Backing: hardware.BackingFile, Path: given, Cache: "writethrough", AIO: "io_uring", IOThread: true},
			{Name: "third", Size: 16 * mib, Controller: hardware.NVMe, Backing: hardware.BackingFile, Queues: 3},
		},
		Persistent: []hardware.Persistent{{Name: "p", Size: 16 * mib}},
		Parameters: []string{"mitigations=auto"},
	}
	g := start(t, r, s)
	l := dial(t, g)
	for path, want := range map[string]string{
		"/sys/block/vda/size":              "16384",
		"/sys/block/vda/serial":            "first",
		"/sys/block/vda/queue/write_cache": "write back",
		"/sys/block/sda/size":              "8192",
		"/sys/block/sda/queue/write_cache": "write through",
		"/sys/block/nvme0n1/size":          "32768",
	} {
		if got, err := l.ReadFile(path); err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("%s is %q, want %q (%v)", path, got, want, err)
		}
	}
	if queues, err := l.ask("list /sys/block/vda/mq/*"); err != nil || len(strings.Fields(queues)) != 2 {
		t.Errorf("queues of the first disk: %q, %v", queues, err)
	}
	if line, err := l.ReadFile("/proc/cmdline"); err != nil || !strings.HasSuffix(strings.TrimSpace(string(line)), " mitigations=auto") {
		t.Errorf("command line %q, %v", line, err)
	}
	if memory, err := l.ask("list /sys/bus/acpi/devices/ACPI0012:*"); err != nil || memory == "" {
		t.Errorf("no NVDIMM is announced (%q, %v)", memory, err)
	}
	checkThreads(t, g)
	text, _ := g.Complaints()
	if text != "" {
		t.Errorf("QEMU complains: %s", text)
	}
	if err := l.conn.Close(); err != nil {
		t.Error(err)
	}
}

func checkThreads(t *testing.T, g *Guest) {
	t.Helper()
	threads, err := g.Inspect().Threads(t.Context())
	if err != nil || len(threads) != 2 || threads[0] == threads[1] {
		t.Fatalf("threads %v, %v", threads, err)
	}
	for i, id := range threads {
		var set, want unix.CPUSet
		want.Set(i)
		if err := unix.SchedGetaffinity(id, &set); err != nil || set != want {
			t.Errorf("vCPU %d runs on %v, want CPU %d alone (%v)", i, set, i, err)
		}
	}
	u, err := g.Inspect().Usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, o := range u.Others {
		names[o.Name] = true
	}
	if u.VCPUs[0].Name != "CPU 0/TCG" || u.VCPUs[1].Name != "CPU 1/TCG" || !names["IO io0"] || !names["IO io1"] {
		t.Errorf("threads %+v", u)
	}
}

func TestVirtualTimeBoots(t *testing.T) {
	r := real(t)
	g := start(t, r, hardware.Shape{Name: "virtual", CPU: hardware.CPU{Count: 1}, Memory: hardware.Memory{Size: 128 * mib}, VirtualTime: &hardware.VirtualTime{Shift: 3}})
	l := dial(t, g)
	clock, err := l.ask("read /sys/devices/system/clocksource/clocksource0/current_clocksource")
	up, err2 := l.ask("read /proc/uptime")
	if err != nil || err2 != nil || strings.TrimSpace(clock) != "tsc" {
		t.Errorf("clock %q, up %q, %v, %v", clock, up, err, err2)
	}
	t.Logf("%+v, up %q", g.Facts().Boot, up)
	if err := l.conn.Close(); err != nil {
		t.Error(err)
	}
}

func TestProbeIsKept(t *testing.T) {
	r := real(t)
	qemu, err := exec.LookPath(Binary)
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	first, err := Probe(t.Context(), qemu, r.options.Kernel, r.options.Dir)
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(begun)
	t.Logf("%+v in %v", first, took)
	if first.Why == "" || took > probeWait+3*time.Second {
		t.Errorf("%+v after %v", first, took)
	}
	begun = time.Now()
	second, err := Probe(t.Context(), qemu, r.options.Kernel, r.options.Dir)
	if err != nil || second != first || time.Since(begun) > 3*time.Second {
		t.Errorf("again: %+v in %v, %v", second, time.Since(begun), err)
	}
}

// A boot that hangs times out and is retried once, and both are reported.
func TestWatchdog(t *testing.T) {
	r := real(t)
	r.options.BootTimeout = 300 * time.Millisecond
	_, err := Start(t.Context(), hardware.Shape{Name: "slow", CPU: hardware.CPU{Count: 1}, Memory: hardware.Memory{Size: 128 * mib}}, r.options)
	if err == nil || !strings.Contains(err.Error(), "did not open its channel") {
		t.Errorf("%v", err)
	}
	if left, _ := os.ReadDir(r.options.Dir); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}
