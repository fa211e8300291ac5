package qemu

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/cluster/topology"
	"plimsoll/internal/guest/view"
)

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]Version{
		"QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)\nCopyright": {7, 2, 22},
		"QEMU emulator version 10.0.2":                                           {10, 0, 2},
		"QEMU emulator version 9.1":                                              {9, 1, 0},
	} {
		if v, err := parseVersion(text); err != nil || v != want {
			t.Errorf("%q: %v, %v, want %v", text, v, err, want)
		}
	}
	if _, err := parseVersion("qemu-img version 7.2"); err == nil {
		t.Error("another program's version is taken")
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		v       Version
		a       Accelerator
		refused string
	}{
		{Version{7, 2, 22}, TCG, RefusedPrecopy + ", " + RefusedSMT},
		{Version{9, 2, 0}, TCG, RefusedPrecopy + ", " + RefusedSMT},
		{Version{10, 0, 0}, TCG, RefusedSMT},
		{Version{7, 2, 22}, KVM, ""},
		{Version{6, 2, 0}, KVM, RefusedStream},
	} {
		var names []string
		for _, r := range Refusals(c.v, c.a) {
			names = append(names, r.What)
			if r.Reason == "" {
				t.Errorf("%s is refused without a reason", r.What)
			}
		}
		if got := strings.Join(names, ", "); got != c.refused {
			t.Errorf("QEMU %v under %s refuses %q, want %q", c.v, c.a, got, c.refused)
		}
	}
}

func TestTSCkHz(t *testing.T) {
	cpu := "processor\t: 0\nflags\t\t: fpu constant_tsc\nbogomips\t: 4600.01\n\nprocessor : 1\nbogomips : 1.00\n"
	if got := tscKHz(cpu); got != 2300005 {
		t.Errorf("%d kHz", got)
	}
	for _, text := range []string{"", strings.Replace(cpu, "constant_tsc", "tsc", 1), strings.Replace(cpu, "4600.01", "NaN", 1), strings.Replace(cpu, "4600.01", "1e9", 1)} {
		if got := tscKHz(text); got != 0 {
			t.Errorf("%q: %d kHz, want none", text, got)
		}
	}
}

func TestParseStat(t *testing.T) {
	text := "24882 (CPU 0) /TCG) S 1 2 3 4 5 6 7 8 9 10 192 18 13 14 20 0\n"
	th, err := parseStat(text)
	if err == nil {
		err = th.addSchedstat("2110111965 63744467 3592\n")
	}
	want := Thread{24882, "CPU 0) /TCG", 2110111965, 63744467, 1920 * time.Millisecond, 180 * time.Millisecond, 3592}
	if err != nil || th != want {
		t.Errorf("%+v, %v, want %+v", th, err, want)
	}
	if err := th.addSchedstat("1 2"); err == nil {
		t.Error("a schedstat of two fields is taken")
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("24882 (CPU 0/TCG) S 1 2 3 4 5 6 7 8 9 10 192 18 13 14")
	f.Add(") (")
	f.Fuzz(func(t *testing.T, s string) {
		if th, err := parseStat(s); err == nil && (th.User%tick != 0 || !strings.Contains(s, "("+th.Name+")")) {
			t.Errorf("%q: %+v", s, th)
		}
	})
}

func TestHostShape(t *testing.T) {
	var v view.Topology
	for i := range 16 {
		v.CPUs = append(v.CPUs, view.CPU{ID: i, Socket: i / 8, Core: i % 8 / 2})
	}
	v.Cache = []view.Cache{{Name: "L3", Sharing: []string{"0-3", "4-7", "8-11", "12-15"}}}
	v.Nodes = []view.Node{{CPUs: "0-7", Memory: 9}, {ID: 1, CPUs: "8-15", Memory: 7}, {ID: 2, Memory: 1}}
	want := topology.Shape{Name: "h", Sockets: 2, NodesPerSocket: 1, CoresPerNode: 4, ThreadsPerCore: 2, CoresPerCache: 2, MemoryPerNode: 7}
	if got := HostShape("h", v); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	v.Nodes = []view.Node{{CPUs: "0-15", Memory: 16}}
	want = topology.Shape{Name: "h", Sockets: 1, NodesPerSocket: 1, CoresPerNode: 8, ThreadsPerCore: 2, CoresPerCache: 2, MemoryPerNode: 16}
	if got := HostShape("h", v); got != want {
		t.Errorf("two sockets in a node: %+v, want %+v", got, want)
	}
}

func TestLogIsBounded(t *testing.T) {
	l := &log{}
	for i := range 100_000 {
		fmt.Fprintf(l, "line %d\n", i)
	}
	b := l.bytes()
	if len(b) > keptHead+keptTail*5/4+100 || !bytes.HasPrefix(b, []byte("line 0\n")) || !bytes.HasSuffix(b, []byte("line 99999\n")) || !bytes.Contains(b, []byte("bytes are left out here]")) {
		t.Errorf("%d bytes kept, %.20q to %.20q", len(b), b, b[len(b)-20:])
	}
	if got := l.lastLines(2); got != "line 99998\nline 99999" {
		t.Errorf("%q", got)
	}
}

func TestComplaintsAreCounted(t *testing.T) {
	c := &complaints{}
	for _, p := range []string{"qemu: warning: TCG doesn't supp", "ort requested feature: x\nqemu: real tr", "ouble\n", strings.Repeat("x", 3*longestComplaint)} {
		if n, err := c.Write([]byte(p)); n != len(p) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if got := string(c.bytes()); c.features() != 1 || !strings.HasPrefix(got, "qemu: real trouble\nxxx") {
		t.Errorf("%d features, %.40q", c.features(), got)
	}
}

func TestVersionAsText(t *testing.T) {
	text, err := json.Marshal(Version{7, 2, 22})
	var v Version
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil || string(text) != `"7.2.22"` || v != (Version{7, 2, 22}) {
		t.Errorf("%s, %v, %v", text, v, err)
	}
}

func TestHugePages(t *testing.T) {
	read := func(name string) ([]byte, error) {
		if name != "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages" {
			return nil, fs.ErrNotExist
		}
		return []byte("100\n"), nil
	}
	for want, m := range map[string]Memory{
		"":                              {Size: 200 * mib, HugePage: 2 * mib},
		"100 are free on the host, 101": {Size: 202 * mib, HugePage: 2 * mib},
		"none of that size":             {Size: 1 << 30, HugePage: 1 << 30},
	} {
		err := m.hugePages(read)
		if got := fmt.Sprint(err); (want == "") != (err == nil) || !strings.Contains(got, want) && err != nil {
			t.Errorf("%+v: %v, want %q", m, err, want)
		}
	}
}

func TestMovable(t *testing.T) {
	for want, s := range map[string]Shape{
		"":                      {Disks: []Disk{{Name: "d", Backing: BackingNull}, {Name: "e", Backing: BackingFile, Path: "/e"}}},
		"the same path":         {Disks: []Disk{{Name: "d", Backing: BackingFile}}},
		"would write old pages": {Persistent: []Persistent{{Name: "p"}}},
	} {
		if err := s.movable(); (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestExits(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "42-11")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "exits"), []byte("12345\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	if n := exits(root, 42); n == nil || *n != 12345 {
		t.Errorf("%v", n)
	}
	if n := exits(root, 4); n != nil {
		t.Errorf("another guest's %d", *n)
	}
}
