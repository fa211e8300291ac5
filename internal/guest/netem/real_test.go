package netem

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/guest/initramfs"
	"plimsoll/internal/guest/kernel"
)

// TestMain is the init of a guest if it is process 1.
func TestMain(m *testing.M) {
	if os.Getpid() == 1 {
		guest()
	}
	os.Exit(m.Run())
}

// inNamespace runs f on a thread in a new network namespace, which ends with the thread.
func inNamespace(t *testing.T, f func() error) {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to change links of a network namespace")
	}
	if os.Getuid() != 0 {
		t.Skip("run as root to make a network namespace")
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked, so that the thread ends
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			done <- err
			return
		}
		done <- f()
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func up(link string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq(link)
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

// TestRealNamespace sets, reads and removes an emulator where this kernel has one, and measures it; without, it sees that this is said.
func TestRealNamespace(t *testing.T) {
	inNamespace(t, func() error {
		var tried []trial
		err := errors.Join(up("lo"), func() (err error) { tried, err = try(); return err }())
		if errors.Is(err, errors.ErrUnsupported) {
			if now, err := Read("lo"); err != nil || now.Netem != nil || now.Root != "noqueue" || !now.Default {
				t.Errorf("after what failed: %+v, %v", now, err)
			}
			if now, err := remove("lo"); err != nil || now.Root != "noqueue" {
				t.Errorf("removal of nothing: %+v, %v", now, err)
			}
			t.Logf("this kernel cannot delay packets, so that only TestRealGuest can tell: %v", err)
			return nil
		}
		judge(t, tried)
		return err
	})
}

// A foreign root qdisc is kept.
func TestRealForeignQueue(t *testing.T) {
	inNamespace(t, func() error {
		// The thread's namespace is that of the process it starts.
		if out, err := exec.Command("tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", "1mbit", "burst", "10k", "latency", "50ms").CombinedOutput(); err != nil {
			t.Logf("no tc or no tbf: %v: %s", err, out)
			return nil
		}
		_, err := set("lo", Settings{Delay: time.Millisecond})
		if err == nil || !strings.Contains(err.Error(), "queueing discipline tbf") {
			t.Errorf("set over tbf: %v", err)
		}
		now, err := remove("lo")
		if err != nil || now.Root != "tbf" || now.Default {
			t.Errorf("remove gives %+v, %v", now, err)
		}
		return nil
	})
}

// trial is the result of some settings.
type trial struct {
	Asked  Settings
	Told   State
	Median time.Duration // of round trips over TCP
	TC     string        // output of tc, if it is installed
}

// asTC is tc's output about lo as JSON.
func asTC() string {
	out, err := exec.Command("/sbin/tc", "-j", "qdisc", "show", "dev", "lo", "root").Output()
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(out))
}

// try has round trips over lo, where an emulator delays both ways, without and with emulators, and after them.
func try() (all []trial, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err == nil {
			_, _ = io.Copy(conn, conn)
		}
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	before, err := Read("lo")
	if err != nil {
		return nil, err
	}
	all = append(all, trial{Told: before, Median: roundTrip(conn, 0), TC: asTC()})
	for _, s := range []Settings{
		{Delay: 20 * time.Millisecond, Limit: 5000}, {Delay: 50*time.Millisecond + 7, Limit: 1000}, {Delay: 10 * time.Millisecond},
	} {
		told, err := set("lo", s)
		if err != nil {
			return all, err
		}
		all = append(all, trial{Asked: s, Told: told, Median: roundTrip(conn, 2*s.Delay), TC: asTC()})
	}
	after, err := remove("lo")
	if err != nil {
		return all, err
	}
	return append(all, trial{Told: after, Median: roundTrip(conn, 0), TC: asTC()}), nil
}

// sluggish is how much longer than their delays round trips may take on a machine without other work.
const sluggish = 15 * time.Millisecond

// roundTrip is the median time of some round trips, or -1 after an error. On a busy machine they are repeated, and the
// shortest median counts.
func roundTrip(conn net.Conn, delay time.Duration) time.Duration {
	best := median(conn)
	for n := 0; n < 30 && best > delay+sluggish; n++ {
		best = min(best, median(conn))
	}
	return best
}

func median(conn net.Conn) time.Duration {
	var times []time.Duration
	b := []byte("x")
	for range 9 {
		begin := time.Now()
		if _, err := conn.Write(b); err != nil {
			return -1
		}
		if _, err := io.ReadFull(conn, b); err != nil {
			return -1
		}
		times = append(times, time.Since(begin))
	}
	slices.Sort(times)
	return times[len(times)/2]
}

// judge compares the kernel's settings and delays with the requested ones.
func judge(t *testing.T, all []trial) {
	t.Helper()
	if len(all) != 5 {
		t.Fatalf("%d trials", len(all))
	}
	base := max(all[0].Median, all[4].Median)
	for i, r := range all {
		t.Logf("asked %+v: told %+v %+v, round trip %v; tc: %s", r.Asked, r.Told, r.Told.Netem, r.Median, r.TC)
		if delay := fmt.Sprintf(`"delay":%g,`, r.Asked.Delay.Round(time.Microsecond).Seconds()); r.TC != "" && strings.Contains(r.TC, delay) != (r.Asked.Delay > 0) {
			t.Errorf("tc does not tell of %s", delay)
		}
		if i == 0 || i == 4 {
			if r.Told.Netem != nil || r.Told.Root != all[0].Told.Root || !r.Told.Default || r.Median < 0 || r.Median > sluggish {
				t.Errorf("without an emulator the kernel tells %+v, and a round trip takes %v", r.Told, r.Median)
			}
			continue
		}
		want := r.Asked
		if want.Limit == 0 {
			want.Limit = DefaultLimit
		}
		got := r.Told.Netem
		if got == nil || r.Told.Foreign {
			t.Errorf("of %+v the kernel tells %+v", want, r.Told)
			continue
		}
		if *got != want {
			t.Errorf("of %+v the kernel tells %+v", want, *got)
		}
		if least := 2 * want.Delay; r.Median < least || r.Median > least+base+sluggish {
			t.Errorf("a round trip takes %v with %v each way", r.Median, want.Delay)
		}
	}
}

const said = "plimsoll says "

// guest is the init of a guest: it runs the trials, and powers off.
func guest() {
	defer func() { _ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF) }()
	console, err := os.OpenFile("/dev/console", os.O_RDWR, 0)
	if err != nil {
		return
	}
	_ = unix.Mount("devtmpfs", "/dev", "devtmpfs", 0, "") // for /dev/null, which starting a program takes
	_ = unix.Mkdir("/proc", 0o755)
	_ = unix.Mount("proc", "/proc", "proc", 0, "") // for tc, which reads the unit of time there
	names, err := os.ReadFile(initramfs.ModulesOrder)
	for name := range strings.FieldsSeq(string(names)) {
		file, opened := os.Open(filepath.Join(initramfs.ModulesDir, name))
		if opened == nil {
			opened = unix.FinitModule(int(file.Fd()), "", 0)
		}
		err = errors.Join(err, opened)
	}
	if err = errors.Join(err, up("lo")); err == nil {
		var all []trial
		if all, err = try(); err == nil {
			line, _ := json.Marshal(all)
			fmt.Fprintf(console, "\n%s%s\n", said, line)
			return
		}
	}
	fmt.Fprintf(console, "\n%s%q\n", said, fmt.Sprint(err))
}

// tcFiles are tc and the libraries that it needs, by their names in the guest; none where there is no tc.
func tcFiles() map[string]string {
	out, err := exec.Command("ldd", "/sbin/tc").Output()
	if err != nil {
		return nil
	}
	files := map[string]string{"/sbin/tc": "/sbin/tc"}
	for word := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(word, "/") {
			files[word] = word
		}
	}
	return files
}

// TestRealGuest does the same in a guest, whose kernel has the emulator as a module.
func TestRealGuest(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to boot a guest")
	}
	for _, tool := range []string{"qemu-system-x86_64", "go"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not installed")
		}
	}
	folder := os.Getenv("PLIMSOLL_KERNELS") // a folder that keeps kernels between runs
	if folder == "" {
		var err error
		if folder, err = kernel.Folder(); err != nil {
			t.Skip(err)
		}
	}
	k, err := kernel.Find(folder)
	if err != nil {
		t.Skipf("no kernel for a guest: %v", err)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "init")
	build := exec.Command("go", "test", "-c", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v: %s", err, out)
	}
	archive := filepath.Join(dir, "initramfs")
	files := tcFiles()
	file, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(initramfs.Build(file, initramfs.Spec{Init: program, Kernel: k, Modules: []string{"sch_netem"}, Files: files}), file.Close())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-machine", "q35", "-accel", "tcg", "-m", "256M",
		"-kernel", k.Image, "-initrd", archive, "-append", "console=ttyS0 quiet loglevel=3 panic=-1 nokaslr mitigations=off random.trust_cpu=on", "-serial", "stdio")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); _ = cmd.Wait() }()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	var tail []string
	for lines.Scan() {
		tail = append(tail, lines.Text())
		if text, found := strings.CutPrefix(strings.TrimSpace(lines.Text()), said); found {
			var all []trial
			if err := json.Unmarshal([]byte(text), &all); err != nil {
				t.Fatalf("the guest says %s", text)
			}
			judge(t, all)
			return
		}
	}
	t.Fatalf("the guest says nothing of it: %s", strings.Join(tail[max(0, len(tail)-20):], "\n"))
}
