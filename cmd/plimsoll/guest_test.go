package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/cmd/plimsoll/cli"
)

// fakeBoot writes what passes for a kernel with an EFI stub and for a static
// program, and returns their names.
func fakeBoot(t *testing.T) (kernel, agent string) {
	t.Helper()
	le := binary.LittleEndian
	k := make([]byte, 4096)
	copy(k, "MZ")
	le.PutUint32(k[0x3c:], 0x400)
	copy(k[0x400:], "PE\x00\x00\x64\x86")
	copy(k[0x202:], "HdrS\x0f\x02")
	le.PutUint16(k[0x20e:], 0x600)
	copy(k[0x800:], "6.1.0-test (somebody) #1\x00")
	a := make([]byte, 64+56)
	copy(a, "\x7fELF\x02\x01\x01")
	le.PutUint16(a[16:], 2)
	le.PutUint16(a[18:], 62)
	le.PutUint32(a[20:], 1)
	le.PutUint64(a[32:], 64)
	le.PutUint16(a[52:], 64)
	le.PutUint16(a[54:], 56)
	le.PutUint16(a[56:], 1)
	dir := t.TempDir()
	kernel, agent = filepath.Join(dir, "vmlinuz"), filepath.Join(dir, "agent")
	for name, text := range map[string][]byte{kernel: k, agent: a} {
		if err := os.WriteFile(name, text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return kernel, agent
}

func TestGuestImage(t *testing.T) {
	kernel, agent := fakeBoot(t)
	for format, magic := range map[string]string{"initramfs": "070701", "qcow2": "QFI\xfb", "ova": "plimsoll-guest.ovf", "raw": ""} {
		dir := t.TempDir()
		out := filepath.Join(dir, "guest")
		var stdout, stderr bytes.Buffer
		status := Main([]string{"guest", "image", "--format", format, "--out", out, "--agent", agent, "--kernel", kernel, "--file", "/etc/note=" + agent, "--json"}, &stdout, &stderr)
		if status != cli.ExitDone {
			t.Fatalf("%s: status %d: %s", format, status, stderr.String())
		}
		image, err := os.ReadFile(out)
		if err != nil || !strings.HasPrefix(string(image), magic) {
			t.Errorf("%s begins with %q, %v", format, image[:min(16, len(image))], err)
		}
		if format == "raw" && string(image[512:520]) != "EFI PART" {
			t.Error("the disk has no table of partitions")
		}
		var told struct {
			Size   int64
			Parts  struct{ Files int64 } `json:"initramfs"`
			Kernel struct{ Version string }
		}
		if err := json.Unmarshal(stdout.Bytes(), &told); err != nil {
			t.Fatal(err)
		}
		if told.Size != int64(len(image)) || told.Parts.Files != 120 || told.Kernel.Version != "6.1.0-test" {
			t.Errorf("%s: told %+v", format, told)
		}
		if left, _ := os.ReadDir(dir); len(left) != 1 {
			t.Errorf("%s: left behind %v", format, left)
		}
	}
}

func TestGuestImageNeedsAnAgent(t *testing.T) {
	kernel, agent := fakeBoot(t)
	out := filepath.Join(t.TempDir(), "guest")
	for want, args := range map[string][]string{
		"plimsoll-agent":          {"--kernel", kernel},
		"is not a static program": {"--kernel", kernel, "--agent", kernel},
		"contains a newline":      {"--kernel", kernel, "--agent", agent, "--format", "raw", "--append", "a\nb"},
	} {
		var stdout, stderr bytes.Buffer
		status := Main(append([]string{"guest", "image", "--out", out}, args...), &stdout, &stderr)
		if status != cli.ExitMistake || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: status %d: %s", want, status, stderr.String())
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: something was written", want)
		}
	}
}

func TestGuestKernelWithoutApt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kernels")
	t.Setenv("PATH", t.TempDir())
	var stdout, stderr bytes.Buffer
	status := Main([]string{"guest", "kernel", "--dir", dir}, &stdout, &stderr)
	if status != cli.ExitTrouble || !strings.Contains(stderr.String(), "apt-get is not installed: specify a kernel with --kernel and --modules") {
		t.Errorf("status %d: %s", status, stderr.String())
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a folder was made for nothing")
	}
}
