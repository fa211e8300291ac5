package storage

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// roundly is a machine on whose disks the operations of each round are given.
type roundly struct {
	rate   func(round int) int
	rounds [][]string // what fio was asked in each
	fills  int
	files  map[string]string
}

func (m *roundly) Name() string { return "roundly" }

func (m *roundly) ReadFile(_ context.Context, name string) ([]byte, error) {
	if text, ok := m.files[name]; ok {
		return []byte(text), nil
	}
	return nil, fs.ErrNotExist
}

func (m *roundly) WriteFile(context.Context, string, []byte) error { return fs.ErrPermission }

func (m *roundly) Run(_ context.Context, c platform.Command) (platform.Result, error) {
	switch {
	case c.Argv[0] == "nproc":
		return prints("1\n"), nil
	case c.Argv[0] == "tee":
		text := new(strings.Builder)
		buffer := make([]byte, 4096)
		for {
			n, err := c.Stdin.Read(buffer)
			text.Write(buffer[:n])
			if err != nil {
				break
			}
		}
		m.files[c.Argv[2]] = text.String()
	case c.Argv[0] == "stat":
		return prints("536870912 /results/scratch/disk-01\n"), nil
	case c.Argv[0] == "fio" && c.Argv[1] == "--name=fill":
		m.fills++
	case c.Argv[0] == "fio":
		m.rounds = append(m.rounds, c.Argv)
		n := m.rate(len(m.rounds))
		fmt.Fprintf(c.Stdout, `{"jobs":[{"jobname":"disk-01","read":{},"write":{"io_bytes":%d,"runtime":1000,"lat_ns":{"N":%d,"mean":5,"bins":{"5":%d}}}}]}`, 4096*n, n, n)
	}
	return platform.Result{}, nil
}

func TestPreconditioningGoesOnUntilSteady(t *testing.T) {
	for _, c := range []struct {
		name   string
		rate   func(round int) int
		rounds int
		fails  bool
	}{
		{"flat", func(int) int { return 1000 }, 5, false},
		{"settles", func(n int) int { return 1000 + 4000/(1<<n) }, 9, false},
		{"falls", func(n int) int { return 100000 / n }, steadyRounds, true},
		{"swings", func(n int) int { return 1000 + 500*(n%2) }, steadyRounds, true},
	} {
		m := &roundly{rate: c.rate, files: map[string]string{}}
		d := made(t, parameter.Settings{"precondition": "steady", "read": "100%", "rate": "50/s", "depth": "8"})
		err := d.Prepare(t.Context(), env(m))
		if c.fails {
			refused(t, err, "not steady after 25 rounds")
			if !strings.Contains(m.files["/results/scratch/manifest.json"], unfinished) {
				t.Errorf("%s: disks that are not steady are taken for steady", c.name)
			}
		} else if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.name != "settles" && len(m.rounds) != c.rounds || len(m.rounds) < 5 || m.fills != 1 {
			t.Errorf("%s: %d fills, %d rounds, want %d", c.name, m.fills, len(m.rounds), c.rounds)
		}
		// Rounds write, as fast as they can, whatever the load proper does.
		for _, argv := range m.rounds {
			if !slices.Contains(argv, "--rw=randwrite") || slices.ContainsFunc(argv, func(a string) bool { return strings.HasPrefix(a, "--rate") || a == "--readonly" }) {
				t.Fatalf("%s: a round ran %q", c.name, argv)
			}
		}
		if c.fails {
			continue
		}
		done := len(m.rounds)
		if err := d.Prepare(t.Context(), env(m)); err != nil || len(m.rounds) != done || m.fills != 1 {
			t.Errorf("%s: preconditioned twice, %v", c.name, err)
		}
	}
}
