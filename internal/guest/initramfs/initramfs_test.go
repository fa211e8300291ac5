package initramfs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestModulesComeInOrder(t *testing.T) {
	k := fakeKernel(t)
	for _, c := range []struct {
		name   string
		wanted []string
		want   []string
	}{
		{"a set", []string{"channel"}, []string{"virtio_ring", "virtio", "virtio_pci_modern_dev", "virtio_pci", "virtio_console"}},
		{"each once", []string{"virtio_console", "virtio", "virtio-console"}, []string{"virtio_ring", "virtio", "virtio_console"}},
		{"built in", []string{"ext4"}, nil},
		{"what it wants first", []string{"xfs"}, []string{"sha_generic", "libcrc32c", "xfs"}},
		{"an algorithm by its alias", []string{"btrfs"}, []string{"sha_generic", "btrfs"}},
		{"what it does not say", []string{"rdma_rxe"}, []string{"sha_generic", "libcrc32c", "crc32_generic", "rdma_rxe"}},
		{"in a circle", []string{"a"}, []string{"b", "a"}},
		{"nothing", nil, nil},
	} {
		modules, err := resolve(k, c.wanted)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []string
		for _, m := range modules {
			got = append(got, m.name)
			if !bytes.HasPrefix(m.content, []byte("\x7fELF")) {
				t.Errorf("%s: module %s is not plain", c.name, m.name)
			}
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

func TestModulesThatCannotBeHad(t *testing.T) {
	k := fakeKernel(t)
	for wanted, want := range map[string]string{
		"netem":  "modules for \"netem\": kernel 6.8.0-1-generic has no module sch_netem: package linux-image-6.8.0-1-generic has it neither built in nor as module; Ubuntu keeps more in linux-modules-extra-6.8.0-1-generic",
		"broken": "no module absent, which broken needs",
		"older":  "is for kernel 6.1.0",
		"text":   "not a kernel module",
		"../x":   "not a module name",
	} {
		if _, err := resolve(k, []string{wanted}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", wanted, err)
		}
	}
	if got := whoHas("6.1.0-56-cloud-amd64"); !strings.HasSuffix(got, "linux-image-6.1.0-56-amd64") {
		t.Error(got)
	}
	if err := os.Remove(filepath.Join(k.Modules, "modules.builtin")); err != nil {
		t.Fatal(err)
	}
	if _, err := resolve(k, []string{"channel"}); err == nil || !strings.Contains(err.Error(), "modules.builtin") {
		t.Errorf("without modules.builtin: %v", err)
	}
	k.Modules = ""
	if m, err := resolve(k, []string{"channel"}); err != nil || m != nil {
		t.Errorf("everything built in: %v, %v", m, err)
	}
}

// digest is the SHA-256 of the archive of spec.
const digest = "33255f5e0415980eaa456885d48f5230ee85f1190b6111b7cd061dc7ff6acd04"

var fixed = time.Unix(1_000_000_000, 0)

func spec(t testing.TB) Spec {
	t.Helper()
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return name
	}
	return Spec{
		Init: file("agent", string(fakeProgram()), 0o600), Kernel: fakeKernel(t), Modules: []string{"channel"},
		Files: map[string]string{"/usr/bin/fio": file("fio", "a program", 0o711), "etc/note": file("note", "text", 0o600)},
	}
}

func TestArchive(t *testing.T) {
	s := spec(t)
	var first, second bytes.Buffer
	if err := Build(&first, s); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{s.Init, s.Files["/usr/bin/fio"]} {
		if err := os.Chtimes(file, fixed, fixed); err != nil {
			t.Fatal(err)
		}
	}
	if err := Build(&second, s); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Errorf("two archives of the same differ: %v", err)
	}
	if sum := sha256.Sum256(first.Bytes()); hex.EncodeToString(sum[:]) != digest {
		t.Errorf("the archive is %x: did its layout change on purpose?", sum)
	}
	entries, err := readArchive(bytes.NewReader(first.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Entry{}
	var names []string
	for _, e := range entries {
		got[e.Name] = e
		names = append(names, e.Name)
	}
	if !slices.IsSorted(names) {
		t.Errorf("not sorted: %v", names)
	}
	for name, e := range map[string]Entry{
		"init":        {Mode: 0o100755, Content: fakeProgram()},
		"usr":         {Mode: 0o040755},
		"usr/bin/fio": {Mode: 0o100755, Content: []byte("a program")},
		"etc/note":    {Mode: 0o100644, Content: []byte("text")},
		"dev/console": {Mode: 0o020600, Major: 5, Minor: 1},
		"mods/order":  {Mode: 0o100644, Content: []byte("virtio_ring.ko\nvirtio.ko\nvirtio_pci_modern_dev.ko\nvirtio_pci.ko\nvirtio_console.ko\n")},
		"tmp":         {Mode: 0o040755},
	} {
		if g := got[name]; g.Mode != e.Mode || !bytes.Equal(g.Content, e.Content) || g.Major != e.Major || g.Minor != e.Minor {
			t.Errorf("%s: %+v", name, g)
		}
	}
	a, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	if z := a.Sizes(); z.Total != int64(first.Len()) || z.Init != 120 || z.Files != 13 || z.Modules < 1000 || len(a.Modules()) != 5 {
		t.Errorf("sizes %+v of %d", z, first.Len())
	}
}

// The program that everybody has reads the same.
func TestCpioAgrees(t *testing.T) {
	if _, err := exec.LookPath("cpio"); err != nil {
		t.Skip("cpio is not installed")
	}
	var archive bytes.Buffer
	if err := Build(&archive, spec(t)); err != nil {
		t.Fatal(err)
	}
	entries, err := readArchive(bytes.NewReader(archive.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	list := exec.Command("cpio", "-it", "--quiet")
	list.Stdin = bytes.NewReader(archive.Bytes())
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
	}
	if d := cmp.Diff(names, strings.Fields(string(out))); d != "" {
		t.Error(d)
	}
	unpack := exec.Command("cpio", "-id", "--quiet", "usr/*", "mods/*")
	unpack.Dir, unpack.Stdin = t.TempDir(), &archive
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	s, err := os.Stat(filepath.Join(unpack.Dir, "usr/bin/fio"))
	if err != nil || s.Mode().Perm() != 0o755 || s.Size() != 9 {
		t.Error(s, err)
	}
}

func TestWhatNoArchiveMayHold(t *testing.T) {
	for name, change := range map[string]func(*Spec){
		"/init exists already":               func(s *Spec) { s.Files["/x/../init"] = s.Init },
		"not a valid file name":              func(s *Spec) { s.Files["/"] = s.Init },
		"no such file":                       func(s *Spec) { s.Files["x"] = "/none/such" },
		"not a regular file":                 func(s *Spec) { s.Files["x"] = t.TempDir() },
		"/init is a file, so /init/x cannot": func(s *Spec) { s.Files["init/x"] = s.Init },
		"is not a static program":            func(s *Spec) { s.Init = s.Files["etc/note"] },
		"/init: open":                        func(s *Spec) { s.Init = "/none/such" },
	} {
		s := spec(t)
		change(&s)
		if err := Build(&bytes.Buffer{}, s); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFeatures(t *testing.T) {
	names := Features()
	for _, want := range []string{"channel", "disks", "network", "netem", "pmem", "nvmeof-tcp", "nvmeof-rdma"} {
		if !slices.Contains(names, want) || len(features[want]) == 0 {
			t.Errorf("no set %q", want)
		}
	}
}

func FuzzModinfo(f *testing.F) {
	f.Add(fakeModule("depends=a,b-c", "softdep=pre: x post: y", "vermagic=6.1 SMP"))
	f.Add(fakeModule())
	f.Add([]byte("depends=\x00"))
	f.Fuzz(func(t *testing.T, text []byte) {
		found, err := readModinfo(text)
		if err != nil {
			found = parseModinfo(text)
		}
		for _, name := range slices.Concat(found.depends, found.before) {
			if name == "" || name != plainName(name) {
				t.Fatalf("module %q", name)
			}
		}
	})
}

func FuzzArchive(f *testing.F) {
	var archive bytes.Buffer
	if err := writeArchive(&archive, []Entry{{Name: "a", Mode: modeDir | 0o755}, {Name: "a/b", Mode: modeFile | 0o644, Content: []byte("hello")}}); err != nil {
		f.Fatal(err)
	}
	f.Add(archive.Bytes())
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, err := readArchive(bytes.NewReader(text))
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := writeArchive(&again, entries); err != nil {
			t.Fatal(err)
		}
		same, err := readArchive(&again)
		if err != nil || !cmp.Equal(entries, same) {
			t.Fatalf("written and read again it is another: %v", err)
		}
	})
}

func TestStatic(t *testing.T) {
	program := fakeProgram()
	if !static(program) {
		t.Error("a static program is refused")
	}
	program[64] = 3 // a segment that names an interpreter
	if static(program) {
		t.Error("a program that needs an interpreter is taken")
	}
	if static(fakeModule()) {
		t.Error("a module is taken for a program")
	}
}
