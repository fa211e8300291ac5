// Package measured is what benchmarks yield, and how they measure.
package measured

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Result is one line: what was measured against what it is held to.
type Result struct {
	What    string
	Got     float64
	Against string
	Limit   float64
	Unit    string
}

// Median is the middle of n times that f takes, in seconds.
func Median(n int, f func() error) (float64, error) {
	times := make([]float64, n)
	for i := range times {
		begin := time.Now()
		if err := f(); err != nil {
			return 0, err
		}
		times[i] = time.Since(begin).Seconds()
	}
	slices.Sort(times)
	return times[n/2], nil
}

// Binary builds plimsoll into a folder that the caller removes.
func Binary() (path, dir string, err error) {
	dir, err = os.MkdirTemp("", "plimsoll-bench-*")
	if err != nil {
		return "", "", err
	}
	path = filepath.Join(dir, "plimsoll")
	build := exec.Command("go", "build", "-o", path, "./cmd/plimsoll")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", dir, fmt.Errorf("build plimsoll: %w: %s", err, out)
	}
	return path, dir, nil
}

// Resident is the memory of a process, or of this one with "self", in bytes, by a name of
// proc(5).
func Resident(process, name string) (float64, error) {
	text, err := os.ReadFile("/proc/" + process + "/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == name+":" {
			kib, err := strconv.ParseFloat(f[1], 64)
			return kib * 1024, err
		}
	}
	return 0, fmt.Errorf("the kernel does not tell %s of a process", name)
}
