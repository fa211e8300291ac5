package nbd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// real skips the test if tools are missing.
func real(t *testing.T, tools ...string) {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to serve disks to other programs")
	}
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not installed")
		}
	}
}

// process starts a server in a process of its own, and returns the address of the disk.
func process(t *testing.T, o Order) (uri string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o.Path = filepath.Join(t.TempDir(), "nbd")
	cmd := exec.Command(self, Command)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		rest, _ := io.ReadAll(out)
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		if len(rest) > 0 {
			t.Logf("counted %s", rest)
		}
	})
	if _, err := in.Write(o.Line()); err != nil {
		t.Fatal(err)
	}
	head := make([]byte, len(Command+" listens\n"))
	if _, err := io.ReadFull(out, head); err != nil {
		t.Fatal(err)
	}
	return "nbd+unix:///?socket=" + o.Path
}

func output(t *testing.T, argv ...string) string {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = t.TempDir() // fio leaves files where it runs
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(argv, " "), err, out)
	}
	return string(out)
}

// randomFile makes a disk of random bytes with a hole.
func randomFile(t *testing.T, size int) string {
	t.Helper()
	r := rand.NewChaCha8([32]byte{1})
	b := make([]byte, size)
	_, _ = r.Read(b[:size/2])
	name := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestRealFio writes and verifies checksums with fio through each filter.
func TestRealFio(t *testing.T) {
	real(t, "fio")
	const size = 16 << 20
	for _, filters := range []string{"", "null", "daemon:null", "delay:1ms", "stats", "daemon:stats null"} {
		t.Run("filters "+filters, func(t *testing.T) {
			uri := process(t, Order{File: randomFile(t, size), Filters: strings.Fields(filters)})
			n := size
			if strings.Contains(filters, "delay") {
				n = 2 << 20
			}
			begin := time.Now()
			out := output(t, "fio", "--name=v", "--ioengine=nbd", "--uri="+uri, "--rw=randwrite", "--bsrange=4k-128k", "--iodepth=16", fmt.Sprint("--size=", n),
				"--verify=crc32c", "--do_verify=1", "--verify_fatal=1", "--fsync=64", "--randseed=1")
			if !strings.Contains(out, "err= 0") {
				t.Errorf("fio says %s", out)
			}
			t.Logf("verified %d MiB in %v", n>>20, time.Since(begin).Round(time.Millisecond))
		})
	}
	t.Run("a disk that fails", func(t *testing.T) {
		uri := process(t, Order{File: randomFile(t, size), Filters: []string{"fail:50"}})
		if out, err := exec.Command("fio", "--name=v", "--ioengine=nbd", "--uri="+uri, "--rw=randread", "--bs=4k", "--size=1m").CombinedOutput(); err == nil {
			t.Errorf("fio saw no error: %s", out)
		}
	})
}

// TestRealLibnbd queries a disk, copies it out, and copies another in with libnbd's tools.
func TestRealLibnbd(t *testing.T) {
	real(t, "nbdinfo", "nbdcopy", "cmp")
	const size = 24<<20 + 512
	for _, filters := range []string{"", "stats", "daemon:null"} {
		t.Run("filters "+filters, func(t *testing.T) {
			from, to := randomFile(t, size), filepath.Join(t.TempDir(), "copy")
			uri := process(t, Order{File: from, Filters: strings.Fields(filters)})
			var told struct {
				Protocol string
				Exports  []struct {
					Name          string `json:"export-name"`
					Size          int64  `json:"export-size"`
					Flush         bool   `json:"can_flush"`
					FUA           bool   `json:"can_fua"`
					Multi         bool   `json:"can_multi_conn"`
					Trim          bool   `json:"can_trim"`
					Zero          bool   `json:"can_zero"`
					ReadOnly      bool   `json:"is_read_only"`
					MaximumLength int64  `json:"block_size_maximum"`
				}
			}
			text := output(t, "nbdinfo", "--json", "--list", uri)
			if err := json.Unmarshal([]byte(text), &told); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			if len(told.Exports) != 1 || told.Protocol != "newstyle-fixed" {
				t.Fatalf("nbdinfo says %s", text)
			}
			if e := told.Exports[0]; e.Name != "" || e.Size != size || !e.Flush || !e.FUA || !e.Multi || !e.Trim || !e.Zero || e.ReadOnly || e.MaximumLength != longestData {
				t.Errorf("nbdinfo says %+v", e)
			}
			output(t, "nbdcopy", uri, to)
			output(t, "cmp", from, to)
			other := process(t, Order{File: randomFile(t, size), Filters: strings.Fields(filters)})
			output(t, "nbdcopy", "--connections=4", to, other)
			back := filepath.Join(t.TempDir(), "back")
			output(t, "nbdcopy", other, back)
			output(t, "cmp", from, back)
		})
	}
}

// TestRealNBDKit compares our server and nbdkit's with libnbd as a client of both.
func TestRealNBDKit(t *testing.T) {
	real(t, "nbdkit", "nbdcopy")
	const size = 8 << 20
	name := randomFile(t, size)
	socket := filepath.Join(t.TempDir(), "kit")
	kit := exec.Command("nbdkit", "-f", "--exit-with-parent", "-U", socket, "file", name)
	if err := kit.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = kit.Process.Kill(); _ = kit.Wait() }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 500 {
		if _, err := os.Stat(socket); err == nil {
			break
		}
		<-tick.C
	}
	theirs := output(t, "nbdcopy", "nbd+unix:///?socket="+socket, "-")
	ours := output(t, "nbdcopy", process(t, Order{File: name}), "-")
	if !bytes.Equal([]byte(theirs), []byte(ours)) || len(ours) != size {
		t.Errorf("%d bytes from nbdkit, %d from here, and they differ", len(theirs), len(ours))
	}
}

// TestRealQEMU writes, trims and compares a disk with QEMU's client.
func TestRealQEMU(t *testing.T) {
	real(t, "qemu-img", "qemu-io")
	const size = 8 << 20
	for _, filters := range []string{"", "daemon:null"} {
		t.Run("filters "+filters, func(t *testing.T) {
			name := randomFile(t, size)
			uri := process(t, Order{File: name, Filters: strings.Fields(filters)})
			output(t, "qemu-img", "compare", "-f", "raw", "-F", "raw", uri, name)
			said := output(t, "qemu-io", "-f", "raw", "-d", "unmap", "-c", "write -P 0x5a 4k 200k", "-c", "write -f -P 0x77 1M 64k", "-c", "write -z -u 2M 1M", "-c", "discard 3M 1M",
				"-c", "aio_write -P 1 5M 1M", "-c", "aio_read -P 0x5a 4k 200k", "-c", "aio_flush", "-c", "flush", "-c", "read -P 0 2M 2M", "-c", "read -P 1 5M 1M", "-c", "read -P 0x77 1M 64k", uri)
			if strings.Contains(said, "failed") || strings.Contains(said, "error") {
				t.Errorf("qemu-io says %s", said)
			}
			output(t, "qemu-img", "compare", "-f", "raw", "-F", "raw", uri, name)
		})
	}
}
