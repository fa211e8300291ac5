package scratch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// agent makes a folder with a program in it.
func agent(t *testing.T, parent, name string) (dir, self string) {
	t.Helper()
	dir = filepath.Join(parent, name)
	self = filepath.Join(dir, "plimsoll-agent")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(self, []byte("program"), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir, self
}

func there(name string) bool { _, err := os.Stat(name); return err == nil }

func TestFoldersOfTheDeadAreSwept(t *testing.T) {
	parent := t.TempDir()
	alive, self := agent(t, parent, Prefix+"alive")
	first, err := take(alive, self)
	if err != nil {
		t.Fatal(err)
	}
	dead, self := agent(t, parent, Prefix+"dead")
	f, err := take(dead, self)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.lock.Close(); err != nil { // as when it is killed
		t.Fatal(err)
	}
	coming, _ := agent(t, parent, Prefix+"coming")
	never, _ := agent(t, parent, Prefix+"never")
	old := time.Now().Add(-2 * stale)
	if err := os.Chtimes(never, old, old); err != nil {
		t.Fatal(err)
	}
	other, _ := agent(t, parent, "somebody-else")
	if err := os.Symlink(other, filepath.Join(parent, Prefix+"link")); err != nil {
		t.Fatal(err)
	}
	second, self := agent(t, parent, Prefix+"second")
	s, err := take(second, self)
	if err != nil {
		t.Fatal(err)
	}
	changed := ""
	s.Sweep(func(folder string) error { changed = folder; return os.ErrPermission })
	if !there(dead) || !strings.Contains(dead+never, changed) {
		t.Errorf("a folder whose agent left settings changed is gone: %s", dead)
	}
	s.Sweep(func(string) error { return nil })
	for name, stays := range map[string]bool{alive: true, dead: false, coming: true, never: false, other: true, other + "/plimsoll-agent": true, second: true} {
		if there(name) != stays {
			t.Errorf("%s is there: %v, want %v", name, there(name), stays)
		}
	}
	for _, f := range []*Folder{first, s} {
		if err := f.Remove(); err != nil || there(f.name) {
			t.Errorf("%s stays: %v", f.name, err)
		}
	}
}

func TestFoldersOfOthersAreRefused(t *testing.T) {
	parent := t.TempDir()
	own, self := agent(t, parent, Prefix+"own")
	unnamed, program := agent(t, parent, "home")
	for dir, self := range map[string]string{parent: self, unnamed: program, filepath.Join(parent, "absent"): self} {
		if _, err := take(dir, self); err == nil {
			t.Errorf("%s was taken", dir)
		}
	}
	if _, err := take(own, self); err != nil {
		t.Fatal(err)
	}
	if _, err := take(own, self); err == nil {
		t.Error("a folder was taken twice")
	}
}
