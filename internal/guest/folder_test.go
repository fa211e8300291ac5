package guest_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"plimsoll/internal/guest/folder"
)

func TestFoldersGoWithTheirOwners(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	left := filepath.Join(os.TempDir(), "guests-left")
	if err := os.MkdirAll(left, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(left, "lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	first, err := folder.New("guests-", 0o711)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("a folder without an owner is left")
	}
	young := filepath.Join(os.TempDir(), "guests-young") // has no lock yet
	if err := os.Mkdir(young, 0o700); err != nil {
		t.Fatal(err)
	}
	second, err := folder.New("guests-", 0o700)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(first.Path); err != nil || info.Mode().Perm() != 0o711 {
		t.Errorf("a folder that is in use: %v", err)
	}
	inner, err := first.Inner("1")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(young); err != nil {
		t.Error(err)
	}
	for _, f := range []*folder.Folder{inner, first, second} {
		if err := f.Remove(); err != nil {
			t.Error(err)
		}
	}
	if rest, err := os.ReadDir(os.TempDir()); err != nil || len(rest) != 0 {
		t.Errorf("%v is left, %v", rest, err)
	}
}

// Folders are made and removed while others look for some without an owner.
func TestFoldersBesideSweeps(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var makers sync.WaitGroup
	for range 4 {
		makers.Go(func() {
			for range 200 {
				f, err := folder.New("guests-", 0o700)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := os.Stat(f.File("lock")); err != nil {
					t.Errorf("a folder that is in use was removed: %v", err)
				}
				if err := f.Remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	makers.Wait()
}
