package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestAAOnTheRealMachine compares this machine's disk with itself, twenty times.
// The two arms are the same, so neither may be called better or worse. Each run
// may err with the 5 % that it states, or less; a failure of one seed that does
// not come back is chance.
func TestAAOnTheRealMachine(t *testing.T) {
	if os.Getenv("PLIMSOLL_DEEP") == "" || os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_DEEP=1 and PLIMSOLL_REAL=1 to compare this machine with itself for ten minutes and more")
	}
	if _, err := exec.LookPath("fio"); err != nil {
		t.Skip("fio is not installed")
	}
	dir := t.TempDir()
	for seed := 1; seed <= 20; seed++ {
		c := exec.CommandContext(t.Context(), "plimsoll", "run", "storage-aa", "--quiet", "--json", "--seed", fmt.Sprint(seed), "--out", fmt.Sprint(seed),
			"--set", "storage.size=64MiB", "--set", "measure.window=1s", "--set", "measure.warmup=500ms", "--set", "measure.longest=2s", "--set", "measure.looks=[6,9]")
		c.Dir = dir
		c.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(dir, "state"))
		out, err := c.Output()
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		var findings struct {
			Headlines []struct{ Verdict, Sentence string }
		}
		if err := json.Unmarshal(out, &findings); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if len(findings.Headlines) == 0 {
			t.Errorf("seed %d: no headline", seed)
		}
		for _, h := range findings.Headlines {
			t.Logf("seed %d: %s", seed, h.Sentence)
			if h.Verdict == "better" || h.Verdict == "worse" {
				t.Errorf("seed %d: two identical arms differ: %s", seed, h.Sentence)
			}
		}
	}
}
