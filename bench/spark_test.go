package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"plimsoll/internal/effort"
)

// Small sizes go the whole way: a cluster, a turn of plimsoll, a turn of spark-submit, and the line of the result.
func TestRealSpark(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to train on the real Spark")
	}
	effort.Deep(t, "train with plimsoll and with spark-submit")
	c := exec.CommandContext(t.Context(), "go", "run", ".", "spark", "--rows", "5000", "--turns", "1", "--dropped", "1", "--kept", "2")
	out, err := c.CombinedOutput()
	if err != nil && strings.Contains(string(out), "./setup deep") {
		t.Skipf("Spark does not run here: %s", out)
	}
	if err != nil || !strings.Contains(string(out), "k-means of 5000 x 20") || !strings.Contains(string(out), "spark-submit") {
		t.Errorf("%v: %s", err, out)
	}
}

// Flags that make no sense are refused.
func TestFlagsOfSpark(t *testing.T) {
	were := os.Args
	defer func() { os.Args = were }()
	for _, c := range []struct {
		args string
		want submission
		bad  bool
	}{
		{"spark", submission{400_000, 3, 10, 20}, false},
		{"cluster", submission{400_000, 3, 10, 20}, false},
		{"annealing --seed 1", submission{400_000, 3, 10, 20}, false},
		{"spark --rows 5000 --turns 1 --dropped 0 --kept 2", submission{5000, 1, 0, 2}, false},
		{"spark --rows 0", submission{}, true},
		{"spark --turns 1 load", submission{}, true},
		{"spark --kept none", submission{}, true},
	} {
		os.Args = append([]string{"bench"}, strings.Fields(c.args)...)
		got, err := submitting()
		if (err != nil) != c.bad || err == nil && got != c.want {
			t.Errorf("%s: %+v, %v", c.args, got, err)
		}
	}
}
