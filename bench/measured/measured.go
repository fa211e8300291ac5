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
	"syscall"
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
	return Middle(times), nil
}

// Middle is the median of values.
func Middle(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}

// Work is the CPU time that this process has used, in seconds.
func Work() (float64, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds(), err
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
// proc_pid_status(5).
func Resident(process, name string) (float64, error) {
	return kibibytes("/proc/"+process+"/status", name)
}

// Proportional is the memory of a process in bytes; of pages that it shares with others, its part.
func Proportional(process string) (float64, error) {
	return kibibytes("/proc/"+process+"/smaps_rollup", "Pss")
}

func kibibytes(file, name string) (float64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == name+":" {
			kib, err := strconv.ParseFloat(f[1], 64)
			return kib * 1024, err
		}
	}
	return 0, fmt.Errorf("%s has no %s", file, name)
}
