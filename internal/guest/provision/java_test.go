package provision

import (
	"os"
	"path/filepath"
	"testing"
)

// A guest gets Cassandra with its Java where the host has fetched the jars, and else neither.
func TestCassandraComesWithItsJava(t *testing.T) {
	cache, home := t.TempDir(), t.TempDir()
	write := func(name string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(home, "lib", "modules"))
	write(filepath.Join(home, "man", "man1", "java.1"))
	if err := os.Symlink("nowhere", filepath.Join(home, "docs")); err != nil {
		t.Fatal(err)
	}
	if files := cassandra(cache, []string{home}, "/bin/sh"); files != nil {
		t.Errorf("without jars there is %v", files)
	}
	write(filepath.Join(cache, "cassandra-5.0.4", "some.jar"))
	if files := cassandra(cache, []string{"/none", home}, "/bin/sh"); files != nil {
		t.Errorf("without Java there is %v", files)
	}
	if err := os.MkdirAll(filepath.Join(home, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/bin/sh", filepath.Join(home, "bin", "java")); err != nil {
		t.Fatal(err)
	}
	files := cassandra(cache, []string{"/none", home}, "/bin/sh")
	for _, name := range []string{
		filepath.Join(home, "bin", "java"), filepath.Join(home, "lib", "modules"), "/usr/share/plimsoll/cassandra-5.0.4/some.jar", "/usr/bin/sh", "/usr/bin/sha256sum",
	} {
		if files[name] == "" {
			t.Errorf("there is no %s", name)
		}
	}
	for _, name := range []string{filepath.Join(home, "man", "man1", "java.1"), filepath.Join(home, "docs")} {
		if files[name] != "" {
			t.Errorf("there is %s", name)
		}
	}
}
