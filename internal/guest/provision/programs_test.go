package provision

import (
	"os"
	"path/filepath"
	"testing"
)

func TestProgramsOfThisHost(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"wrapper": "#!/bin/sh\n", "broken": "\x7fELF"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "server")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	files := gather([]string{"server", "absent", "wrapper", "broken"})
	if real, err := filepath.EvalSymlinks(self); err != nil || files["/usr/bin/server"] != real {
		t.Errorf("the program is %q, want %q, %v", files["/usr/bin/server"], real, err)
	}
	for _, name := range []string{"absent", "wrapper", "broken"} {
		if file, listed := files["/usr/bin/"+name]; listed {
			t.Errorf("%s is listed as %q", name, file)
		}
	}
	if files := gather([]string{"absent"}); len(files) != 0 {
		t.Errorf("a host without programs has %v", files)
	}
}
