package factor_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/factor"
	"plimsoll/internal/guest/initramfs"
	"plimsoll/internal/guest/kernel"
	"plimsoll/internal/guest/netem"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
)

// TestMain lets this program be the first process of a guest, and plimsoll's own program there.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 2 && os.Args[1] == netem.Command:
		if err := netem.Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		os.Exit(0)
	case os.Getpid() == 1:
		guest()
	}
	os.Exit(m.Run())
}

const (
	told = "plimsoll says "
	end  = told + "that is all"
)

// guest is what the first process of a guest does.
func guest() {
	defer func() { _ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF) }()
	console, err := os.OpenFile("/dev/console", os.O_RDWR, 0)
	if err != nil {
		return
	}
	for _, m := range [][2]string{{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"tmpfs", "/tmp"}} {
		_ = os.Mkdir(m[1], 0o755)
		_ = unix.Mount(m[0], m[1], m[0], 0, "")
	}
	_ = os.Setenv("PATH", "/sbin:/bin")
	names, err := os.ReadFile(initramfs.ModulesOrder)
	for name := range strings.FieldsSeq(string(names)) {
		file, opened := os.Open(filepath.Join(initramfs.ModulesDir, name))
		if opened == nil {
			opened = unix.FinitModule(int(file.Fd()), "", 0)
		}
		err = errors.Join(err, opened)
	}
	if err == nil {
		err = vary(func(line string) { fmt.Fprintf(console, "\n%s%s\n", told, line) })
	}
	if err != nil {
		fmt.Fprintf(console, "\n%s%q\n", told, err.Error())
	}
	fmt.Fprintf(console, "\n%s\n", end)
}

// vary sets levels, with tc and without it, and says what they read back as.
func vary(say func(string)) error {
	ctx := context.Background()
	p, err := local.Kind().Open(ctx, nil, 1)
	if err != nil {
		return err
	}
	f := factor.Latency()
	for _, by := range []string{"tc", "plimsoll"} {
		place := factor.Env{Machine: p.Machine(), Target: "lo"}
		if by == "tc" {
			place.Machine = struct{ platform.Machine }{place.Machine} // which is no Carrier
		} else if err := os.Remove("/sbin/tc"); err != nil {
			return err
		}
		before, err := f.Get(ctx, place)
		if err != nil {
			return err
		}
		for _, level := range []string{"32µs", "10ms", "1.5s", "0s", "none", "7ms"} {
			if err := f.Set(ctx, place, level); err != nil {
				return err
			}
			got, err := f.Get(ctx, place)
			if err != nil {
				return err
			}
			kernel, err := netem.Read("lo")
			if err != nil {
				return err
			}
			delay := "none"
			if kernel.Netem != nil {
				delay = kernel.Netem.Delay.Round(time.Microsecond).String()
			}
			say(fmt.Sprintf("by %s: %s reads back as %s and the kernel has %s", by, level, got, delay))
		}
		if err := f.RestoreLevel(ctx, place, before); err != nil {
			return err
		}
		after, err := netem.Read("lo")
		if err != nil {
			return err
		}
		say(fmt.Sprintf("by %s: put back to %s, and the kernel has an emulator: %v", by, before, after.Netem != nil))
	}
	return nil
}

// TestRealLatency varies the factor in a guest, whose kernel has the emulator.
func TestRealLatency(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to boot a guest")
	}
	for _, tool := range []string{"qemu-system-x86_64", "tc", "ldd", "go"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not installed")
		}
	}
	said := boot(t)
	var want []string
	for _, by := range []string{"tc", "plimsoll"} {
		for _, level := range []string{"32µs", "10ms", "1.5s", "0s", "none", "7ms"} {
			want = append(want, fmt.Sprintf("by %s: %s reads back as %s and the kernel has %s", by, level, level, level))
		}
		want = append(want, "by "+by+": put back to none, and the kernel has an emulator: false")
	}
	if got := strings.Join(said, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("the guest says\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// boot boots this program in a guest and returns what it says.
func boot(t *testing.T) (said []string) {
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
	program, archive := filepath.Join(dir, "init"), filepath.Join(dir, "initramfs")
	build := exec.Command("go", "test", "-c", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v: %s", err, out)
	}
	files := map[string]string{}
	for _, needed := range []string{"/sbin/tc", "/bin/ls"} {
		files[needed] = needed
		libraries, err := exec.Command("ldd", needed).Output()
		if err != nil {
			t.Skip(err)
		}
		for word := range strings.FieldsSeq(string(libraries)) {
			if strings.HasPrefix(word, "/") {
				files[word] = word
			}
		}
	}
	file, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(initramfs.Build(file, initramfs.Spec{Init: program, Kernel: k, Modules: []string{"sch_netem"}, Files: files}), file.Close()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
	cmd := exec.CommandContext(ctx, "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-machine", "q35", "-accel", "tcg", "-m", "384M",
		"-kernel", k.Image, "-initrd", archive, "-append", "console=ttyS0 quiet loglevel=3 panic=-1 nokaslr mitigations=off random.trust_cpu=on", "-serial", "stdio")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	defer func() { cancel(); _ = cmd.Wait() }()
	lines := bufio.NewScanner(out)
	var all []string
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		all = append(all, line)
		switch text, found := strings.CutPrefix(line, told); {
		case line == end:
			return said
		case found:
			said = append(said, text)
		}
	}
	t.Fatalf("the guest does not come to its end: %s", strings.Join(all[max(0, len(all)-20):], "\n"))
	return nil
}
