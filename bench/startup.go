package main

import (
	"os"
	"os/exec"

	"plimsoll/bench/measured"
)

// startup is the time of a command that does nothing else.
func startup() ([]result, error) {
	path, dir, err := measured.Binary()
	defer os.RemoveAll(dir)
	if err != nil {
		return nil, err
	}
	const repetitions = 25
	ours, err := measured.Median(repetitions, func() error { return exec.Command(path, "version").Run() })
	if err != nil {
		return nil, err
	}
	results := []result{{"plimsoll version", ours, "limit", .05, "s"}}
	if peer, err := measured.Median(repetitions, func() error { return exec.Command("fio", "--version").Run() }); err == nil {
		results = append(results, result{"plimsoll version", ours, "fio --version", peer, "s"})
	}
	return results, nil
}
