package disk

import (
	"bytes"
	"crypto/sha256"
	"debug/pe"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fakeKernel is what passes for a kernel that firmware starts.
func fakeKernel(n int) []byte {
	k := bytes.Repeat([]byte("kernel! "), n/8)
	copy(k, "MZ")
	binary.LittleEndian.PutUint32(k[0x3c:], 0x80)
	copy(k[0x80:], "PE\x00\x00\x64\x86")
	return k
}

func spec() Spec {
	return Spec{Kernel: fakeKernel(300_000), Initramfs: bytes.Repeat([]byte("initramfs"), 20_001), Command: "console=ttyS0"}
}

func raw(t testing.TB, s Spec) []byte {
	t.Helper()
	disk, err := Raw(s)
	if err != nil {
		t.Fatal(err)
	}
	return disk
}

// digest is the SHA-256 of the disk of spec.
const digest = "cf36c1431697cef7178c650bcc4a19dce56aabd09f12dd73cf7dbec195372fe3"

func TestSameBytes(t *testing.T) {
	if sum := fmt.Sprintf("%x", sha256.Sum256(raw(t, spec()))); sum != digest {
		t.Errorf("the disk is %s: did its layout change on purpose?", sum)
	}
	other := spec()
	other.Command = "quiet"
	if bytes.Equal(raw(t, spec())[512:1024], raw(t, other)[512:1024]) {
		t.Error("disks that differ have one identity")
	}
}

// The program in the tree is what the assembler makes of its source.
func TestStubIsAssembled(t *testing.T) {
	for _, program := range []string{"as", "objcopy"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("binutils are not installed")
		}
	}
	dir := t.TempDir()
	object, binary := filepath.Join(dir, "stub.o"), filepath.Join(dir, "stub.bin")
	for _, args := range [][]string{{"as", "--64", "-o", object, "stub.asm"}, {"objcopy", "-O", "binary", "-j", ".text", object, binary}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Skipf("no assembler for x86-64: %v: %s", err, out)
		}
	}
	if made, err := os.ReadFile(binary); err != nil || !bytes.Equal(made, stub) {
		t.Errorf("stub.bin is not made from stub.asm: go generate (%v)", err)
	}
}

func TestApplication(t *testing.T) {
	kernel := fakeKernel(5000)
	app := application(kernel, `initrd=\INITRD.IMG`)
	f, err := pe.NewFile(bytes.NewReader(app))
	if err != nil {
		t.Fatal(err)
	}
	head := f.OptionalHeader.(*pe.OptionalHeader64)
	if f.Machine != pe.IMAGE_FILE_MACHINE_AMD64 || head.Subsystem != pe.IMAGE_SUBSYSTEM_EFI_APPLICATION || head.AddressOfEntryPoint != codeAt {
		t.Errorf("%+v", head)
	}
	// As firmware loads it: sections where the table says, parameters relative to themselves.
	memory := make([]byte, head.SizeOfImage)
	for _, s := range f.Sections {
		data, err := s.Data()
		if err != nil {
			t.Fatal(err)
		}
		copy(memory[s.VirtualAddress:], data[:s.VirtualSize])
	}
	base := uint64(codeAt + len(stub))
	number := func(i uint64) uint64 { return binary.LittleEndian.Uint64(memory[base+8*i:]) }
	if at := base + number(0); !bytes.Equal(memory[at:at+number(1)], kernel) {
		t.Error("the kernel is not where the program looks for it")
	}
	if at := base + number(2); !bytes.Equal(memory[at:at+number(3)], utf16le(`initrd=\INITRD.IMG`)) {
		t.Error("the command line is not where the program looks for it")
	}
}

func TestPartitionTable(t *testing.T) {
	disk := raw(t, spec())
	le := binary.LittleEndian
	last := uint64(len(disk)/sector - 1)
	for _, at := range []uint64{1, last} {
		h := bytes.Clone(disk[at*sector:][:92])
		sum := le.Uint32(h[16:])
		le.PutUint32(h[16:], 0)
		if string(h[:8]) != "EFI PART" || crc32.ChecksumIEEE(h) != sum || le.Uint64(h[24:]) != at {
			t.Errorf("header in sector %d", at)
		}
		table := disk[le.Uint64(h[72:])*sector:][:gptEntries*128]
		if crc32.ChecksumIEEE(table) != le.Uint32(h[88:]) || string(table[:16]) != typeESP {
			t.Errorf("table of the header in sector %d", at)
		}
		if end := le.Uint64(table[40:]); end > le.Uint64(h[48:]) {
			t.Errorf("the partition ends in sector %d, after %d", end, le.Uint64(h[48:]))
		}
	}
}

// readFAT reads a file through the tables of a volume, as firmware does.
func readFAT(volume []byte, path ...string) ([]byte, error) {
	le := binary.LittleEndian
	cluster := int(volume[13]) * sector
	fat := volume[int(le.Uint16(volume[14:]))*sector:]
	data := volume[(int(le.Uint16(volume[14:]))+2*int(le.Uint32(volume[36:])))*sector:]
	chain := func(c uint32) (out []byte) {
		for ; c < 0x0ffffff8; c = le.Uint32(fat[4*c:]) {
			out = append(out, data[int(c-2)*cluster:][:cluster]...)
		}
		return out
	}
	content := chain(le.Uint32(volume[44:]))
next:
	for _, name := range path {
		for r := content; len(r) >= 32 && r[0] != 0; r = r[32:] {
			if string(r[:11]) == name {
				content = chain(uint32(le.Uint16(r[20:]))<<16 | uint32(le.Uint16(r[26:])))
				if r[11] == fatFile {
					content = content[:le.Uint32(r[28:])]
				}
				continue next
			}
		}
		return nil, fmt.Errorf("no %s", name)
	}
	return content, nil
}

func TestFilesAreOnTheVolume(t *testing.T) {
	s := spec()
	esp := raw(t, s)[firstSector*sector:]
	if got, err := readFAT(esp, "INITRD  IMG"); err != nil || !bytes.Equal(got, s.Initramfs) {
		t.Errorf("the initramfs: %d bytes, %v", len(got), err)
	}
	want := application(s.Kernel, `initrd=\INITRD.IMG console=ttyS0`)
	if got, err := readFAT(esp, "EFI        ", "BOOT       ", "BOOTX64 EFI"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the kernel: %d bytes, %v", len(got), err)
	}
	if top, err := readFAT(esp, "EFI        ", "BOOT       ", "..         ", "BOOT       ", ".          ", "BOOTX64 EFI"); err != nil || len(top) != len(want) {
		t.Errorf("by way of the parent: %v", err)
	}
}

// What the system's own tools say of table and volume, where they are installed.
func TestToolsAgree(t *testing.T) {
	disk := raw(t, spec())
	dir := t.TempDir()
	whole, esp := filepath.Join(dir, "disk"), filepath.Join(dir, "esp")
	for name, text := range map[string][]byte{whole: disk, esp: disk[firstSector*sector : len(disk)-mebibyte]} {
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"/sbin/sfdisk", "--verify", whole}, "No errors detected"},
		{[]string{"/sbin/sfdisk", "--list", whole}, "EFI System"},
		{[]string{"/sbin/fsck.vfat", "-n", "-v", esp}, "4 files"},
	} {
		if _, err := exec.LookPath(c.args[0]); err != nil {
			t.Logf("%s is not installed", c.args[0])
			continue
		}
		cmd := exec.Command(c.args[0], c.args[1:]...)
		cmd.Env = append(os.Environ(), "LC_ALL=C")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%v: %v\n%s", c.args, err, out)
		}
	}
}

func TestWhatDoesNotBoot(t *testing.T) {
	for want, change := range map[string]func(*Spec){
		"no EFI stub":        func(s *Spec) { s.Kernel = []byte("\x7fELF") },
		"contains a newline": func(s *Spec) { s.Command = "a\nb" },
	} {
		s := spec()
		change(&s)
		if _, err := Raw(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := fat32(60_000, nil); err == nil {
		t.Error("a volume that would be read as FAT16 is made")
	}
	if _, err := fat32(80_000, []file{{name: "BIG     BIN", content: make([]byte, 80_000*sector)}}); err == nil {
		t.Error("more than fits is written")
	}
}
