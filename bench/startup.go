package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// binary builds plimsoll into a folder that the caller removes.
func binary() (path, dir string, err error) {
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

// startup is the time of a command that does nothing else.
func startup() ([]result, error) {
	path, dir, err := binary()
	defer os.RemoveAll(dir)
	if err != nil {
		return nil, err
	}
	const repetitions = 25
	ours, err := median(repetitions, func() error { return exec.Command(path, "version").Run() })
	if err != nil {
		return nil, err
	}
	results := []result{{"plimsoll version", ours, "limit", .05, "s"}}
	if peer, err := median(repetitions, func() error { return exec.Command("fio", "--version").Run() }); err == nil {
		results = append(results, result{"plimsoll version", ours, "fio --version", peer, "s"})
	}
	return results, nil
}
