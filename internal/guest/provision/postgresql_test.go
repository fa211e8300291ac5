package provision

import (
	"os"
	"path/filepath"
	"testing"
)

// installed is an installation of PostgreSQL whose programs are this one.
func installed(t *testing.T) (i installation, shell string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	i = installation{filepath.Join(dir, "bin"), filepath.Join(dir, "share"), filepath.Join(dir, "lib")}
	shell = filepath.Join(dir, "sh")
	for _, name := range []string{i.programs + "/postgres", i.programs + "/initdb", i.libraries + "/plpgsql.so", i.libraries + "/dict_snowball.so", i.libraries + "/llvmjit.so", shell} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(self, name); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"postgres.bki", "timezonesets/Default", "extension/plpgsql.control", "extension/hstore.control"} {
		name = filepath.Join(i.share, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("nowhere", filepath.Join(i.share, "broken")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	return i, shell
}

func TestADatabaseIsThereAsAWhole(t *testing.T) {
	i, shell := installed(t)
	absent := installation{"/nowhere/bin", "/nowhere/share", "/nowhere/lib"}
	files := database([]installation{absent, i}, shell)
	for _, name := range []string{
		i.programs + "/postgres", i.programs + "/initdb", i.libraries + "/plpgsql.so", i.libraries + "/dict_snowball.so", shellAt,
		i.share + "/postgres.bki", i.share + "/timezonesets/Default", i.share + "/extension/plpgsql.control",
	} {
		if info, err := os.Stat(files[name]); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s is %q: %v", name, files[name], err)
		}
	}
	for _, name := range []string{i.libraries + "/llvmjit.so", i.share + "/extension/hstore.control", i.share + "/broken"} {
		if file, listed := files[name]; listed {
			t.Errorf("%s is listed as %q", name, file)
		}
	}
	if err := os.Remove(i.libraries + "/dict_snowball.so"); err != nil {
		t.Fatal(err)
	}
	if files := database([]installation{absent, i}, shell); len(files) != 0 {
		t.Errorf("of what lacks a part there is %v", files)
	}
}

// The server that the PATH leads to is taken, and not a newer one.
func TestTheDatabaseOfThePath(t *testing.T) {
	newer, shell := installed(t)
	older, _ := installed(t)
	if err := os.Remove(older.programs + "/postgres"); err != nil {
		t.Fatal(err)
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(older.programs+"/postgres", self, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", older.programs)
	files := database([]installation{newer, older}, shell)
	if files[older.programs+"/postgres"] == "" || files[newer.programs+"/postgres"] != "" {
		t.Errorf("not the one of the PATH: %d files", len(files))
	}
}
