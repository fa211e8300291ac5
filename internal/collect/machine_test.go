package collect

import (
	"context"
	"flag"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/platform"
)

var update = flag.Bool("update", false, "write the golden files anew")

// fake is a machine made of recorded files.
type fake struct {
	files, links, stats map[string]string
	membership          string // of a worker
}

// recorded reads an archive of files: a head of links and of answers of stat,
// then each file after a line "-- NAME --".
func recorded(t testing.TB, archive string) *fake {
	t.Helper()
	text, err := os.ReadFile("testdata/" + archive)
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{files: map[string]string{}, links: map[string]string{}, stats: map[string]string{}}
	file := ""
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 3 && words[0] == "--" && words[2] == "--":
			file = words[1]
		case file != "":
			f.files[file] += line
		case len(words) == 3 && words[0] == "link":
			f.links[words[1]] = words[2]
		case len(words) == 4 && words[0] == "stat":
			f.stats[words[1]] = words[2] + " " + words[3]
		case len(words) == 2 && words[0] == "worker":
			f.membership += words[1] + "\n"
		}
	}
	return f
}

func (f *fake) Name() string { return "recorded" }

func (f *fake) ReadFile(_ context.Context, name string) ([]byte, error) {
	text, ok := f.files[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return []byte(text), nil
}

func (f *fake) WriteFile(_ context.Context, name string, _ []byte) error {
	return &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
}

func (f *fake) Run(_ context.Context, c platform.Command) (platform.Result, error) {
	last := c.Argv[len(c.Argv)-1]
	table := map[string]map[string]string{"stat": f.stats, "readlink": f.links}[c.Argv[0]]
	if text, ok := table[last]; ok {
		return platform.Result{Stdout: []byte(text + "\n")}, nil
	}
	switch c.Argv[0] {
	case "cat":
		if c.Worker {
			return platform.Result{Stdout: []byte(f.membership)}, nil
		}
	case "ls":
		var names []string
		for name := range f.files {
			if rest, found := strings.CutPrefix(name, last+"/"); found {
				names = append(names, strings.Split(rest, "/")[0])
			}
		}
		return platform.Result{Stdout: []byte(strings.Join(names, "\n"))}, nil
	}
	return platform.Result{Exit: 1}, nil
}

func (f *fake) Clock(context.Context) (platform.Clock, error) {
	return platform.Clock{Synchronised: true, MaxError: 1500 * time.Microsecond}, nil
}

func (f *fake) Space(context.Context, string) (platform.Space, error) {
	return platform.Space{Size: 1000, Free: 400}, nil
}

// bare hides every ability but those of a machine.
type bare struct{ platform.Machine }

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile("testdata/"+name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("differs from testdata/%s; if it should, run with -update\n%s", name, got)
	}
}
