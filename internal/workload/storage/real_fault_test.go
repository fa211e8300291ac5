package storage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/workloadtest"
)

func TestRealContract(t *testing.T) {
	forReal(t)
	workloadtest.Run(t, Kind(), workloadtest.Options{
		Settings: []parameter.Settings{
			{"size": "16MiB"},
			{"size": "16MiB", "disks": "2", "threads": "2", "depth": "4", "read": "70%", "block": "4KiB/70:16KiB/30"},
			{"size": "1.5MiB", "rate": "400/s", "read": "50%", "random": "50%", "direct": "false"},
			{"size": "16MiB", "read": "100%", "random": "0%", "precondition": "zero"},
			{"size": "64KiB", "read": "0%", "precondition": "none"},
		},
		Env:   here,
		Files: below,
	})
}

// shortRun runs a load for half a second and returns how many operations it did.
func shortRun(t *testing.T, d *disks, env workload.Env) (operations int64) {
	t.Helper()
	out := measure.NewRecorder(nil)
	if err := d.Run(t.Context(), env, load.Stage{Length: 500 * time.Millisecond, Interval: 250 * time.Millisecond, Seed: 1}, out); err != nil {
		t.Fatal(err)
	}
	for _, in := range out.Intervals() {
		for _, s := range in.Samples {
			operations += s.Operations
		}
	}
	return operations
}

// failed wants an ExitError of fio, and returns it.
func failed(t *testing.T, err error) *workload.ExitError {
	t.Helper()
	var exit *workload.ExitError
	if !errors.As(err, &exit) || exit.Program != "fio" {
		t.Fatalf("got %v, want how fio ended", err)
	}
	return exit
}

// fioOf finds the running fio that works in a folder. The folder is the test's
// own, so that no other fio can be meant.
func fioOf(t *testing.T, dir string) int {
	t.Helper()
	folders, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range folders {
		line, err := os.ReadFile(name)
		if err == nil && strings.HasPrefix(string(line), "fio\x00") && strings.Contains(string(line), dir+"/") {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatal("there is no fio that works in " + dir)
	return 0
}

func TestRealFioKilled(t *testing.T) {
	env := forReal(t)
	d := made(t, parameter.Settings{"size": "4MiB"})
	if err := d.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	killed := false
	out := measure.NewRecorder(func(*measure.Recorder) bool {
		if !killed {
			killed = true
			if err := syscall.Kill(fioOf(t, env.Dir), syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
		return false
	})
	exit := failed(t, d.Run(t.Context(), env, load.Stage{Length: time.Minute, Interval: 250 * time.Millisecond, Seed: 1}, out))
	if exit.Signal != "SIGKILL" || !strings.Contains(exit.Error(), "SIGKILL") {
		t.Errorf("got %+v", exit)
	}
	if err := d.Clean(t.Context(), env); err != nil {
		t.Error(err)
	}
}

func TestRealDamagedData(t *testing.T) {
	env := forReal(t)
	d := made(t, parameter.Settings{"size": "1.5MiB", "read": "100%", "verify": "crc32c"})
	if err := d.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if n := shortRun(t, d, env); n == 0 {
		t.Error("nothing was read")
	}
	data, err := os.ReadFile(env.Dir + "/disk-01")
	if err != nil {
		t.Fatal(err)
	}
	for at := 100; at < len(data); at += 4096 { // one byte of each block
		data[at] ^= 1
	}
	if err := os.WriteFile(env.Dir+"/disk-01", data, 0o644); err != nil {
		t.Fatal(err)
	}
	out := measure.NewRecorder(nil)
	exit := failed(t, d.Run(t.Context(), env, load.Stage{Length: 10 * time.Second, Interval: 250 * time.Millisecond, Seed: 1}, out))
	if lost := measure.DataFailures(out.Checks()); len(lost) != 1 || !strings.Contains(lost[0].Detail, "does not match its checksum") {
		t.Errorf("the checks are %+v", out.Checks())
	}
	if exit.Exit == 0 || !strings.Contains(exit.Stderr, "verify") {
		t.Errorf("got %+v", exit)
	}
}

func TestRealDiskFull(t *testing.T) {
	env := forReal(t)
	device, dir := loop(t, 8), t.TempDir()
	must(t, "mkfs.ext4", "-q", device)
	must(t, "mount", device, dir)
	t.Cleanup(func() { must(t, "umount", dir) })
	env.Dir = dir + "/scratch"
	_, err := made(t, parameter.Settings{"size": "16MiB"}).Check(t.Context(), env)
	refused(t, err, "stay free", "--out")
	exit := failed(t, made(t, parameter.Settings{"size": "16MiB"}).Prepare(t.Context(), env))
	if exit.Exit == 0 || !strings.Contains(exit.Stderr, "No space left") {
		t.Errorf("got %+v", exit)
	}
	// Files without blocks run full only when they are written to.
	d := made(t, parameter.Settings{"size": "16MiB", "precondition": "none", "random": "0%", "block": "64KiB"})
	if err := d.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	exit = failed(t, d.Run(t.Context(), env, load.Stage{Length: 10 * time.Second, Interval: 250 * time.Millisecond, Seed: 1}, measure.NewRecorder(nil)))
	if exit.Exit == 0 || !strings.Contains(exit.Stderr, "No space left") {
		t.Errorf("got %+v", exit)
	}
	if err := d.Clean(t.Context(), env); err != nil {
		t.Error(err)
	}
}

func TestRealFoldersThatDoNotServe(t *testing.T) {
	env := forReal(t)
	if err := os.MkdirAll("/dev/shm", 0o1777); err != nil {
		t.Fatal(err)
	}
	env.Dir = fmt.Sprintf("/dev/shm/plimsoll-test-%d", os.Getpid())
	_, err := made(t, nil).Check(t.Context(), env)
	refused(t, err, "tmpfs", "direct: false")
	if _, err := made(t, parameter.Settings{"direct": "false"}).Check(t.Context(), env); err != nil {
		t.Error(err)
	}
	env.Dir = "/proc/scratch"
	_, err = made(t, nil).Check(t.Context(), env)
	if err == nil {
		t.Error("/proc holds disks")
	}
}

// A disk is filled to its last byte, also where it is not a whole number of blocks.
func TestRealDisksAreFilledToTheEnd(t *testing.T) {
	env := forReal(t)
	d := made(t, parameter.Settings{"size": "1.5MiB"})
	if err := d.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(env.Dir + "/disk-01")
	if err != nil || len(data) != 3<<19 {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
	for at := 0; at < len(data); at += 4096 {
		if strings.Trim(string(data[at:at+4096]), "\x00") == "" {
			t.Fatalf("the block at %d is empty", at)
		}
	}
	again := made(t, parameter.Settings{"size": "1.5MiB"})
	if err := again.Clean(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if err := again.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if same, err := os.ReadFile(env.Dir + "/disk-01"); err != nil || string(same) != string(data) {
		t.Errorf("the same seed gives other data, %v", err)
	}
}
