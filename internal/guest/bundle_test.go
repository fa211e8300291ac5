package guest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/guest/bundle"
)

// The files are those that the loader itself lists.
func TestAsTheLoader(t *testing.T) {
	ldd, err := exec.LookPath("ldd")
	if err != nil {
		t.Skip("the machine has no ldd to compare with")
	}
	seen := 0
	for _, name := range []string{"sh", "ls", "stat", "mount", "git", "fio", "curl"} {
		program, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		text, err := exec.Command(ldd, program).Output()
		if err != nil {
			continue // a static one
		}
		seen++
		var want []string
		for line := range strings.Lines(string(text)) {
			words := strings.Fields(line)
			at := ""
			switch {
			case len(words) >= 3 && words[1] == "=>":
				at = words[2]
			case len(words) > 0 && filepath.IsAbs(words[0]):
				at = words[0]
			default:
				continue
			}
			real, err := filepath.EvalSymlinks(at)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, real)
		}
		files, err := bundle.Program(program)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, real := range files {
			got = append(got, real)
		}
		real, err := filepath.EvalSymlinks(program)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, real)
		slices.Sort(got)
		slices.Sort(want)
		if got, want = slices.Compact(got), slices.Compact(want); !slices.Equal(got, want) {
			t.Errorf("%s needs %q, and the loader says %q", name, got, want)
		}
	}
	if seen == 0 {
		t.Error("no program was looked at")
	}
}

// A program runs where there is nothing but what was found.
func TestAProgramRunsAlone(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1: it needs root, for chroot")
	}
	if os.Geteuid() != 0 {
		t.Skip("chroot needs root")
	}
	files, err := bundle.Program("/bin/ls")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for name, real := range files {
		data, err := os.ReadFile(real)
		if err == nil {
			err = os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(root, name), data, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	text, err := exec.Command("chroot", root, "/bin/ls", "/").CombinedOutput()
	if err != nil || !strings.Contains(string(text), "bin") {
		t.Errorf("%v: %s", err, text)
	}
}

func TestWhatIsNoProgram(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{text, "/nowhere/program", t.TempDir()} {
		if _, err := bundle.Program(name); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
