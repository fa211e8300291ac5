package scene

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestKeptNumbers(t *testing.T) {
	k, err := Keep(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	measure := func() (int, error) {
		if asked++; asked == 1 {
			return 0, errors.New("busy")
		}
		return asked, nil
	}
	if n, err := k.Number("filters", measure); err == nil {
		t.Errorf("a measurement that failed is %d", n)
	}
	for range 2 {
		if n, err := k.Number("filters", measure); err != nil || n != 2 {
			t.Errorf("%d, %v; want what was measured first", n, err)
		}
	}
}

// A folder is made once and copied; the oldest is made again where others took its place.
func TestKeptFolders(t *testing.T) {
	k, err := Keep(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &Scene{Context: t.Context(), Dir: t.TempDir(), Kept: k}
	made, copies := map[string]int{}, 0
	take := func(name string, fails error) error {
		copies++
		to := filepath.Join(s.Dir, fmt.Sprint(copies))
		err := k.Copy(s, name, to, func(dir string) error {
			made[name]++
			return errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(dir+"/data", []byte(name), 0o600), fails)
		})
		if text, _ := os.ReadFile(to + "/data"); err == nil && string(text) != name {
			t.Errorf("the copy of %s holds %q", name, text)
		}
		return err
	}
	if take("0", os.ErrClosed) == nil {
		t.Error("a folder that was not made is copied")
	}
	for _, name := range []string{"0", "0", "1", "2", "0", "3", "0", "1"} {
		if err := take(name, nil); err != nil {
			t.Error(err)
		}
	}
	if made["0"] != 3 || made["1"] != 2 || made["2"] != 1 || made["3"] != 1 {
		t.Errorf("folders made: %v", made)
	}
	if left, _ := os.ReadDir(k.dir); len(left) != folders {
		t.Errorf("%d folders are left, want %d", len(left), folders)
	}
}
