package guard_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/agent/guard"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
)

// trap is a scratch folder with links, pipes and devices by an attacker, and files that must
// not change.
type trap struct {
	t                *testing.T
	scratch, outside string
	machine          *guard.Machine
}

func newTrap(t *testing.T) *trap {
	t.Helper()
	dir := t.TempDir()
	x := &trap{t: t, scratch: filepath.Join(dir, "scratch"), outside: filepath.Join(dir, "outside")}
	for _, err := range []error{
		os.MkdirAll(filepath.Join(x.scratch, "sub"), 0o755),
		os.MkdirAll(filepath.Join(x.outside, "folder"), 0o755),
		os.WriteFile(filepath.Join(x.outside, "file"), []byte("precious"), 0o600),
		os.WriteFile(filepath.Join(x.outside, "folder", "file"), []byte("precious"), 0o600),
		os.Symlink(filepath.Join(x.outside, "file"), filepath.Join(x.scratch, "link")),
		os.Symlink("../outside/folder", filepath.Join(x.scratch, "folder")),
		os.Symlink(filepath.Join(x.outside, "new"), filepath.Join(x.scratch, "dangling")),
		os.Symlink("loop", filepath.Join(x.scratch, "loop")),
		os.Symlink("/dev/null", filepath.Join(x.scratch, "device")),
		syscall.Mkfifo(filepath.Join(x.scratch, "pipe"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	p, err := local.Kind().Open(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	x.machine, err = guard.New(t.Context(), p.Machine().(guard.Whole), guard.Rules{Scratch: x.scratch, Memory: filepath.Join(dir, "changed.json")})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// seen lists everything outside the scratch folder, with modes, owners and contents.
func (x *trap) seen() map[string]string {
	x.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(x.outside, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, _ := os.ReadFile(name) // of a folder, nothing
		all[name] = fmt.Sprint(info.Mode(), info.Sys().(*syscall.Stat_t).Uid, string(text))
		return nil
	})
	if err != nil {
		x.t.Fatal(err)
	}
	return all
}

// A malicious lab cannot write outside the scratch folder through files in it.
func TestPathsThatLeadElsewhere(t *testing.T) {
	x := newTrap(t)
	in := func(name string) string { return x.scratch + "/" + name }
	before := x.seen()
	names := map[string]string{
		"link": in("link"), "folder": in("folder/file"), "new file in a folder": in("folder/new"), "folder itself": in("folder/"), "nothing": in("dangling"),
		"loop": in("loop"), "upward": in("../outside/file"), "upward from a link": in("folder/../file"), "absolute": x.outside + "/file", "relative": "outside/file",
		"zero byte": in("a\x00b"), "long": in(strings.Repeat("a", 300)), "longer": in(strings.Repeat("a/", 4000)), "process": "/proc/self/root" + x.outside + "/file", "descriptor": "/dev/fd/../root" + x.outside + "/file",
	}
	for name, file := range names {
		if err := x.machine.WriteFile(t.Context(), file, []byte("evil")); err == nil {
			t.Errorf("%s: %.80q is written", name, file)
		}
		for _, argv := range [][]string{
			{"tee", "--", file}, {"truncate", "--size=0", "--", file}, {"mkdir", "-p", "--", file}, {"chown", "1:1", "--", file},
			{"fio", "--name=a", "--rw=write", "--ioengine=psync", "--size=4096", "--filename=" + file},
		} {
			// The rest are errors of the kernel, of a program that was let run.
			r, err := x.machine.Run(t.Context(), platform.Command{Argv: argv, Stdin: strings.NewReader("evil")})
			if kernel := name == "long" || name == "longer"; err == nil && !(kernel && r.Exit != 0) {
				t.Errorf("%s: %.80q runs: %+v", name, argv, r)
			}
		}
		if _, err := x.machine.Dial(t.Context(), "unix", file); err == nil {
			t.Errorf("%s: %.80q is dialled", name, file)
		}
	}
	for _, file := range []string{in("pipe"), in("device")} {
		if err := x.machine.WriteFile(t.Context(), file, []byte("evil")); err == nil {
			t.Errorf("%s is written", file)
		}
	}
	if after := x.seen(); !maps.Equal(before, after) {
		t.Errorf("outside there was\n%v\nand is\n%v", before, after)
	}
}

// Removing files of the scratch folder removes links, not their targets.
func TestLinksAreRemoved(t *testing.T) {
	x := newTrap(t)
	before := x.seen()
	for _, name := range []string{"/..", "/../outside", "/folder/", "/folder/file", "/folder/.", "/sub/../../outside"} {
		if _, err := x.machine.Run(t.Context(), platform.Command{Argv: []string{"rm", "-rf", "--", x.scratch + name}}); !errors.Is(err, guard.ErrNotAllowed) {
			t.Errorf("rm %s: %v", name, err)
		}
	}
	for _, name := range []string{"/link", "/folder", "/dangling", "/loop", "/pipe", ""} {
		if r, err := x.machine.Run(t.Context(), platform.Command{Argv: []string{"rm", "-rf", "--", x.scratch + name}}); err != nil || r.Exit != 0 {
			t.Errorf("rm %s: %+v, %v", name, r, err)
		}
		if _, err := os.Lstat(x.scratch + name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("rm %s: it is there: %v", name, err)
		}
	}
	if after := x.seen(); !maps.Equal(before, after) {
		t.Errorf("outside there was\n%v\nand is\n%v", before, after)
	}
}

// Plimsoll's own writes are allowed.
func TestPathsInTheScratchFolder(t *testing.T) {
	x := newTrap(t)
	for _, name := range []string{"/sub/a", "/new", "/sub//b", "/c c"} {
		if err := x.machine.WriteFile(t.Context(), x.scratch+name, []byte("good")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	r, err := x.machine.Run(t.Context(), platform.Command{Argv: []string{"mkdir", "-p", "--", x.scratch + "/x/y/z"}})
	if err != nil || r.Exit != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}
