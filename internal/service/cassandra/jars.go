package cassandra

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

// Release is the version of Cassandra that plimsoll starts.
const Release = "5.0.4"

// list is the jars of the release for Linux with their SHA-256, in the format of sha256sum.
//
//go:embed jars.sha256
var list []byte

// project makes Maven resolve the dependencies of the release.
const project = `<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>plimsoll</groupId><artifactId>cassandra</artifactId><version>1</version><packaging>pom</packaging>
<dependencies><dependency><groupId>org.apache.cassandra</groupId><artifactId>cassandra-all</artifactId><version>` + Release + `</version></dependency></dependencies>
</project>
`

// Folder is the folder of fetched jars, below the cache folder of a user.
func Folder(cache string) string { return filepath.Join(cache, "plimsoll", "cassandra-"+Release) }

// Fetch makes Maven download the jars to a folder, unless they are there, and checks each
// against the list. It discards all other files.
func Fetch(ctx context.Context, folder string) error {
	if verify(folder) == nil {
		return nil
	}
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return errors.New("fetch the jars of Cassandra: mvn is not installed: apt install maven (or dnf install maven)")
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return fmt.Errorf("create the folder of the jars: %w", err)
	}
	dir, err := os.MkdirTemp(filepath.Dir(folder), ".cassandra-*")
	if err != nil {
		return fmt.Errorf("create the folder of the jars: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the jars were moved before
	if err := os.WriteFile(filepath.Join(dir, "pom.xml"), []byte(project), 0o644); err != nil {
		return fmt.Errorf("write the project for Maven: %w", err)
	}
	c := exec.CommandContext(ctx, mvn, "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=jars", "-DincludeScope=runtime")
	c.Dir = dir
	if said, err := c.CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("fetch the jars of Cassandra with Maven: %w: %s", err, lastLine(said))
	}
	jars := filepath.Join(dir, "jars")
	if err := weed(jars); err != nil {
		return err
	}
	if err := verify(jars); err != nil {
		return err
	}
	if err := os.RemoveAll(folder); err != nil {
		return fmt.Errorf("replace the jars: %w", err)
	}
	if err := os.Rename(jars, folder); err != nil {
		return fmt.Errorf("store the jars: %w", err)
	}
	return nil
}

func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// sums are the checksums of the list, by name.
func sums() map[string]string {
	all := map[string]string{}
	for line := range bytes.Lines(list) {
		if f := strings.Fields(string(line)); len(f) == 2 {
			all[f[1]] = f[0]
		}
	}
	return all
}

// weed removes jars that are not on the list: those for other systems.
func weed(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("check the jars: %w", err)
	}
	wanted := sums()
	for _, e := range entries {
		if wanted[e.Name()] == "" {
			if err := os.Remove(filepath.Join(folder, e.Name())); err != nil {
				return fmt.Errorf("remove a jar for another system: %w", err)
			}
		}
	}
	return nil
}

// verify returns the error of a folder of jars.
func verify(folder string) error {
	for name, want := range sums() {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return fmt.Errorf("a jar of Cassandra is missing: %w", err)
		}
		if got := sha256.Sum256(data); hex.EncodeToString(got[:]) != want {
			return fmt.Errorf("%s has an unexpected SHA-256: %x", name, got)
		}
	}
	return nil
}

// shared is the folder of jars for all users of a machine, as in guests; finder prefers the
// user's own.
const (
	shared = "/usr/share/plimsoll"
	finder = `at=${XDG_CACHE_HOME:-$HOME/.cache}/plimsoll; [ -d "$at/$1" ] || [ ! -d "$2/$1" ] || at=$2; printf %s "$at/$1"`
)

// locate finds the folder of the jars on a machine, and checks them there.
func (s Settings) locate(ctx context.Context, m platform.Machine) (string, error) {
	folder := s.Jars
	if folder == "" {
		r, err := m.Run(ctx, platform.Command{Argv: []string{"sh", "-c", finder, "sh", filepath.Base(Folder("")), shared}})
		if err != nil {
			return "", fmt.Errorf("find the jars of Cassandra: %w", err)
		}
		folder = string(r.Stdout)
	}
	r, err := m.Run(ctx, platform.Command{
		Argv:  []string{"sh", "-c", `cd -- "$1" 2>/dev/null && sha256sum --check --quiet --strict - 2>&1`, "sh", folder},
		Stdin: bytes.NewReader(list),
	})
	switch {
	case err != nil:
		return "", fmt.Errorf("find the jars of Cassandra: %w", err)
	case r.Exit != 0 && len(r.Stdout) == 0:
		return "", fmt.Errorf("the jars of Cassandra %s are not in %s: fetch them with plimsoll service cassandra fetch", Release, folder)
	case r.Exit != 0:
		return "", fmt.Errorf("the jars of Cassandra in %s have unexpected checksums (%s): remove the folder, and fetch them with plimsoll service cassandra fetch", folder, lastLine(r.Stdout))
	}
	return folder, nil
}

// java is searched in PATH and in the folders of Debian and others.
func java() service.Program {
	return service.Program{
		Names: []string{
			"/usr/lib/jvm/java-17-openjdk-amd64/bin/java", "/usr/lib/jvm/java-17-openjdk-arm64/bin/java", "/usr/lib/jvm/jre-17/bin/java", "java",
		},
		Version: []string{"-XX:+PerfDisableSharedMem", "-version"}, // without its folder of counters in /tmp
		Install: "apt install openjdk-17-jre-headless (or dnf install java-17-openjdk-headless)",
	}
}

// findJava finds a Java that runs the release.
func findJava(ctx context.Context, m platform.Machine) (service.Found, error) {
	found, err := java().Find(ctx, m)
	if ctx.Err() != nil {
		return found, fmt.Errorf("find Java: %w", context.Cause(ctx))
	}
	if err != nil {
		return found, fmt.Errorf("java 17 is not installed on this machine: %s; a guest has Java if this host has Java and the jars (plimsoll service cassandra fetch)", java().Install)
	}
	if !strings.HasPrefix(found.Version, "17.") && !strings.HasPrefix(found.Version, "11.") {
		return found, fmt.Errorf("%s is Java %s, but Cassandra %s needs Java 17 or 11: %s", found.Name, found.Version, Release, java().Install)
	}
	return found, nil
}
