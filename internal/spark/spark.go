// Package spark finds Apache Spark on a machine, and asks the master of a standalone cluster about it. It is common to the
// service that is such a cluster and to the workload that runs on one.
package spark

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/platform"
)

const (
	// Release is the version that ./setup installs.
	Release = "3.5.9"
	// Series is the beginning of the versions that plimsoll drives.
	Series = "3.5."
	// Protocol is what a master speaks.
	Protocol = "spark"
)

//go:embed find.sh
var finder string

// Installed is PySpark in a virtual environment, with a Java that runs it.
type Installed struct {
	Home        string // folder of the environment
	Python      string
	Folder      string // of Spark: SPARK_HOME
	Version     string
	Java        string
	JavaVersion string
}

// runs are the major versions of Java that run Spark 3.5 (its documentation, Downloading).
var runs = []string{"17", "11", "8"}

const installJava = "apt install openjdk-17-jre-headless (or dnf install java-17-openjdk-headless)"

// Find finds PySpark in a virtual environment, empty for that of ./setup, and Java, empty for any that is suitable. Its
// errors are one line that says what to install.
func Find(ctx context.Context, m platform.Machine, home, java string) (Installed, error) {
	r, err := m.Run(ctx, platform.Command{Argv: []string{"sh", "-c", finder, "sh", home, java, Release}})
	if ctx.Err() != nil {
		return Installed{}, fmt.Errorf("find Spark: %w", context.Cause(ctx))
	}
	if err == nil && r.Exit != 0 {
		err = fmt.Errorf("sh ended with status %d: %.200s", r.Exit, strings.TrimSpace(string(r.Stderr)))
	}
	if err != nil {
		return Installed{}, fmt.Errorf("find Spark on machine %s: %w", m.Name(), err)
	}
	return choose(string(r.Stdout), java)
}

// choose reads what find.sh printed.
func choose(said, asked string) (Installed, error) {
	told, javas := map[string]string{}, [][2]string{}
	for line := range strings.Lines(said) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\n"), "=")
		if name == "java" {
			version, path, _ := strings.Cut(value, " ")
			javas = append(javas, [2]string{version, path})
			continue
		}
		told[name] = value
	}
	i := Installed{Home: told["home"], Python: told["python"], Folder: told["spark"], Version: told["version"]}
	fetch := fmt.Sprintf("python3 -m venv %s && %s/bin/pip install pyspark==%s numpy (./setup deep does it)", i.Home, i.Home, Release)
	switch {
	case i.Folder == "" || i.Python == "":
		return i, fmt.Errorf("PySpark %s is not in %s: %s", Release, i.Home, fetch)
	case !strings.HasPrefix(i.Version, Series):
		return i, fmt.Errorf("%s has Spark %s, but plimsoll drives %sx: %s", i.Home, i.Version, Series, fetch)
	case told["numpy"] == "":
		return i, fmt.Errorf("%s has no numpy, which PySpark needs: %s/bin/pip install numpy", i.Home, i.Home)
	}
	for _, java := range javas {
		if slices.Contains(runs, major(java[0])) {
			i.Java, i.JavaVersion = java[1], java[0]
			return i, nil
		}
	}
	switch {
	case asked != "" && len(javas) == 0:
		return i, fmt.Errorf("java %s is no program: %s, or omit java to have it found", asked, installJava)
	case len(javas) == 0:
		return i, fmt.Errorf("java 17 is not installed on this machine: %s", installJava)
	}
	return i, fmt.Errorf("%s is Java %s, but Spark %s needs Java 17, 11 or 8: %s", javas[0][1], javas[0][0], i.Version, installJava)
}

// major is the major version in a version of Java: 17 of 17.0.15, 8 of 1.8.0_402.
func major(version string) string {
	first, rest, _ := strings.Cut(version, ".")
	if first == "1" {
		first, _, _ = strings.Cut(rest, ".")
	}
	return first
}
