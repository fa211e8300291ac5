package provision

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"plimsoll/internal/guest/bundle"
)

// homes are the folders of Java versions that Cassandra supports.
func homes() []string {
	return []string{"/usr/lib/jvm/java-17-openjdk-amd64", "/usr/lib/jvm/java-17-openjdk-arm64", "/usr/lib/jvm/jre-17"}
}

// jarsAt is the folder of Cassandra's jars in a guest, which has a subfolder per release.
const jarsAt = "/usr/share/plimsoll"

// cassandra lists the files of Java and Cassandra by their names in a guest, if this host has
// the jars in its cache; otherwise none, as they would take most of the disk.
func cassandra(cache string, homes []string, shell string) map[string]string {
	jars, err := filepath.Glob(filepath.Join(cache, "cassandra-*", "*.jar"))
	if err != nil || len(jars) == 0 {
		return nil
	}
	for _, home := range homes {
		files, err := runtime(home)
		if err != nil {
			continue
		}
		for _, name := range jars {
			files[path.Join(jarsAt, filepath.Base(filepath.Dir(name)), filepath.Base(name))] = name
		}
		if err := tools(files, shell); err != nil {
			return nil
		}
		return files
	}
	return nil
}

// runtime are the files of a Java runtime, with its libraries.
func runtime(home string) (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(home, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		real, err := filepath.EvalSymlinks(name)
		if err != nil {
			return nil //nolint:nilerr // a dangling link
		}
		info, err := os.Stat(real)
		if err != nil || !info.Mode().IsRegular() || spare(name) {
			return err
		}
		files[name] = real
		if filepath.Base(name) == "java" || strings.HasSuffix(name, ".so") {
			if needs, err := bundle.Program(name); err == nil { // some are for graphics, whose libraries are absent
				maps.Copy(files, needs)
			}
		}
		return nil
	})
	if err == nil && files[filepath.Join(home, "bin", "java")] == "" {
		err = errors.New("no Java in " + home)
	}
	return files, err
}

// spare reports whether Java works without a file.
func spare(name string) bool {
	return strings.Contains(name, "/man/") || strings.Contains(name, "/jmods/") || strings.Contains(name, "/docs/") || strings.HasSuffix(name, ".jsa")
}

// tools adds the programs that the service runs besides Java.
func tools(files map[string]string, shell string) error {
	found, err := bundle.Program(shell)
	if err != nil {
		return err
	}
	maps.Copy(files, found)
	files[shellAt] = found[shell]
	for _, name := range []string{"sha256sum", "grep", "sleep"} {
		at, err := exec.LookPath(name)
		if err != nil {
			return err
		}
		if found, err = bundle.Program(at); err != nil {
			return err
		}
		maps.Copy(files, found)
		files["/usr/bin/"+name] = found[at]
	}
	return nil
}
