package inspect

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/platform"
)

func TestParseScheduling(t *testing.T) {
	for text, want := range map[string]Scheduling{
		"other": {"other", 0}, "other:5": {"other", 5}, "batch:-20": {"batch", -20}, "idle": {"idle", 0}, "fifo": {"fifo", 1}, "fifo:10": {"fifo", 10},
	} {
		s, err := ParseScheduling(text)
		if err != nil || s != want || s.String() != text {
			t.Errorf("%s: %+v, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "rr", "other:20", "idle:1", "fifo:0", "fifo:100", "batch:", "other:x"} {
		if s, err := ParseScheduling(text); err == nil || !strings.Contains(err.Error(), "must be other or batch") {
			t.Errorf("%q: %+v, %v", text, s, err)
		}
	}
}

func FuzzParseScheduling(f *testing.F) {
	for _, text := range []string{"other:5", "fifo", "idle", "batch:-3"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseScheduling(text)
		if err != nil {
			return
		}
		if again, err := ParseScheduling(s.String()); err != nil || again != s {
			t.Errorf("%q is %+v, written as %q, which is %+v, %v", text, s, s.String(), again, err)
		}
	})
}

func TestHugePageOfSmaps(t *testing.T) {
	area := func(kb, page string) string {
		return "7f00-7f01 rw-s 0 00:0f 1 /memfd:x (deleted)\nSize: " + kb + " kB\nKernelPageSize: " + page + " kB\nMMUPageSize: " + page + " kB\nRss: 0 kB\nVmFlags: rd wr\n"
	}
	for _, c := range []struct {
		smaps string
		want  int64
	}{
		{area("262144", "4"), 0},
		{area("262144", "2048") + area("64", "4"), 2 << 20},
		{area("131072", "2048") + area("131072", "2048"), 2 << 20},
		{area("131072", "2048") + area("131072", "4"), 0},
		{area("1048576", "1048576"), 1 << 30},
		{"", 0},
	} {
		if got := hugePage(c.smaps, 256<<20); got != c.want {
			t.Errorf("%d, want %d, of %s", got, c.want, c.smaps)
		}
	}
}

func TestBoundNodes(t *testing.T) {
	for maps, want := range map[string]string{
		"7f00 default file=/bin/x mapped=2\n7f01 bind:0 anon=3\n7f02 bind:0 anon=1\n": "0",
		"7f01 interleave:0-1 anon=3\n": "0-1",
		"7f01 bind:0\n7f02 bind:1\n":   "0/1",
		"7f00 default\n\nx":            "",
	} {
		if got := boundNodes(maps); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestListOf(t *testing.T) {
	for want, cpus := range map[string][]int{"": nil, "0": {0}, "0-3,8": {8, 3, 2, 1, 0, 0}, "1,3": {3, 1}} {
		if got := platform.CPUsOf(cpus).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestReadThread(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "24882")
	write := func(name, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write("comm", "CPU 0) /TCG\n")
	write("schedstat", "2110111965 63744467 3592\n")
	want := Thread{24882, "CPU 0) /TCG", 2110111965, 63744467}
	if th, err := readThread(dir); err != nil || th != want {
		t.Errorf("%+v, %v, want %+v", th, err, want)
	}
	write("schedstat", "1 2")
	if _, err := readThread(dir); err == nil {
		t.Error("a schedstat of two fields is taken")
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

func TestImageOf(t *testing.T) {
	for _, c := range []struct{ driver, source, want string }{
		{"rbd", `json:{"pool": "p", "image": "plimsoll-01", "conf": "/a/ceph.conf", "driver": "rbd", "user": "admin"}`, "p/plimsoll-01"},
		{"rbd", "rbd:p/i:conf=/c", "p/i"}, {"rbd", "rbd:p/i", "p/i"}, {"raw", "/d.img", ""}, {"rbd", "json:{", ""}, {"nbd", `json:{"image":"i"}`, ""},
	} {
		if got := imageOf(c.driver, c.source); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.driver, c.source, got, c.want)
		}
	}
}
