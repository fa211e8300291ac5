package agent_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"plimsoll/internal/agent/program"
)

// write makes the smallest program for a machine.
func write(t *testing.T, name string, m elf.Machine, interpreter bool) {
	t.Helper()
	h := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(m), Version: 1, Phoff: 64, Ehsize: 64, Phentsize: 56}
	copy(h.Ident[:], []byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1})
	var b bytes.Buffer
	if interpreter {
		h.Phnum = 1
	}
	if err := binary.Write(&b, binary.LittleEndian, h); err != nil {
		t.Fatal(err)
	}
	if interpreter {
		if err := binary.Write(&b, binary.LittleEndian, elf.Prog64{Type: uint32(elf.PT_INTERP)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(name, b.Bytes(), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	if _, err := program.FindIn(dir, "amd64"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "make build") {
		t.Errorf("an empty folder: %v", err)
	}
	name := filepath.Join(dir, program.Name)
	write(t, name, elf.EM_X86_64, false)
	if got, err := program.FindIn(dir, "amd64"); err != nil || got != name {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := program.FindIn(dir, "arm64"); err == nil || !strings.Contains(err.Error(), "X86_64") {
		t.Errorf("the wrong architecture: %v", err)
	}
	write(t, name+"-arm64", elf.EM_AARCH64, false)
	if got, err := program.FindIn(dir, "arm64"); err != nil || got != name+"-arm64" {
		t.Errorf("got %q, %v", got, err)
	}
	write(t, name, elf.EM_X86_64, true)
	if _, err := program.FindIn(dir, "amd64"); err == nil || !strings.Contains(err.Error(), "not static") {
		t.Errorf("a dynamic program: %v", err)
	}
	if _, err := program.FindIn(dir, "pdp11"); err == nil {
		t.Error("an agent for a PDP-11")
	}
	if _, err := program.FindIn(dir, runtime.GOARCH); err != nil && strings.Contains(err.Error(), "there is no") {
		t.Errorf("this machine's architecture %s is not listed", runtime.GOARCH)
	}
}
