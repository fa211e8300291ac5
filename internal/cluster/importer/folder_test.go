package importer

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Other objects in place of a file are not waited for, and not read without end.
func TestAFolderWithoutFiles(t *testing.T) {
	for kind, place := range map[string]func(name string) error{
		"pipe": func(name string) error { return syscall.Mkfifo(name, 0o600) },
		"zero": func(name string) error { return os.Symlink("/dev/zero", name) },
		"loop": func(name string) error { return os.Symlink(filepath.Base(name), name) },
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS("testdata/bitbrains")); err != nil {
			t.Fatal(err)
		}
		if err := place(filepath.Join(dir, "9.csv")); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			_, err := Import(context.Background(), "bitbrains", []string{dir}, Options{}, nil)
			ended <- err
		}()
		select {
		case err := <-ended:
			if err == nil || !strings.Contains(err.Error(), "9.csv") {
				t.Errorf("%s: %v", kind, err)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: reading it does not end", kind)
		}
	}
}
