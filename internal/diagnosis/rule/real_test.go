package rule_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/diagnosis/rule"
	"plimsoll/internal/hoststat"
	series "plimsoll/internal/hoststat/interval"
)

// loop is a loop device on memory, taken away at the end of the test.
func loop(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("/dev/shm", "plimsoll-rule-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	image := filepath.Join(folder, "image")
	if err := os.WriteFile(image, slices.Repeat([]byte{1}, 128<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("losetup", "--find", "--show", image).Output()
	if err != nil {
		t.Skip("loop devices: ", err)
	}
	device := strings.TrimSpace(string(out))
	t.Cleanup(func() {
		if err := exec.Command("losetup", "--detach", device).Run(); err != nil {
			t.Error(err)
		}
	})
	return device
}

// await returns once a device is read.
func await(t *testing.T, device string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); <-tick.C {
		text, err := os.ReadFile("/sys/block/" + device + "/stat")
		if err != nil {
			t.Fatal(err)
		}
		if reads, err := strconv.Atoi(strings.Fields(string(text))[0]); err == nil && reads > 1000 {
			return
		}
	}
	t.Fatal("fio does not read ", device)
}

// Mistakes with storage that are made on a loop device of this machine are found, with the program
// that suffers.
func TestRealStorage(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to run fio on a loop device for 20 seconds")
	}
	if err := exec.Command("chrt", "--fifo", "1", "fio", "--version").Run(); err != nil || os.Getuid() != 0 {
		t.Skip("needs fio and root")
	}
	for _, c := range []struct {
		name, rule, command string
		ahead               string
		fio                 []string
	}{
		{"sequential reads without read-ahead", "read_ahead", "read_ahead_kb", "0", []string{"--rw=read", "--bs=64k", "--direct=0", "--ioengine=sync", "--invalidate=1"}},
		{"a benchmark of the page cache", "page_cache_as_disk", "--direct=1", "128", []string{"--rw=randread", "--bs=16k", "--direct=0", "--ioengine=psync", "--invalidate=0"}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			device := loop(t)
			if err := os.WriteFile("/sys/block/"+filepath.Base(device)+"/queue/read_ahead_kb", []byte(c.ahead), 0); err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			// Before other programs, so that it waits for the device and not for CPUs.
			fio := exec.CommandContext(ctx, "chrt", append(append([]string{"--fifo", "1", "fio"}, c.fio...), "--name=test", "--filename="+device, "--time_based", "--runtime=60")...)
			fio.Cancel = func() error { return fio.Process.Signal(os.Interrupt) }
			if err := fio.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { stop(); _ = fio.Wait() })
			await(t, filepath.Base(device))
			recording, err := series.Watch(t.Context(), hoststat.NewReader(hoststat.Local()), time.Second, 9*time.Second, nil)
			if err != nil {
				t.Fatal(err)
			}
			found, _ := diagnosis.Judge(&diagnosis.Evidence{Recording: *recording, Own: []int{os.Getpid()}}, rule.All())
			for _, f := range found {
				if f.Rule == c.rule && strings.HasPrefix(f.Subject, "fio ") && strings.Contains(f.Change.Says+f.Change.Command, c.command) {
					return
				}
			}
			t.Errorf("%s: found %+v", c.name, found)
		})
	}
}
