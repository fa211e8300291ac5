package factor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/platform"
)

// fake is a machine made of recorded files, which answers as its kernel would.
type fake struct {
	files    map[string]string
	links    map[string]string // what readlink -e answers
	stats    map[string]string // what stat prints
	lies     bool              // writes are accepted and ignored
	refuses  bool              // writes are denied
	confined platform.Confinement
}

func recorded(t *testing.T) *fake {
	t.Helper()
	text, err := os.ReadFile("testdata/host.txtar")
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

// WriteFile chooses among the words of a file of choices, as the kernel does.
func (f *fake) WriteFile(_ context.Context, name string, data []byte) error {
	now, ok := f.files[name]
	switch {
	case !ok:
		return &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	case f.refuses:
		return &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	case f.lies:
		return nil
	case strings.Contains(now, "["):
		words := strings.Fields(strings.NewReplacer("[", "", "]", "").Replace(now))
		found := false
		for i, w := range words {
			if w == string(data) {
				words[i], found = "["+w+"]", true
			}
		}
		if !found {
			return errors.New("invalid argument")
		}
		data = []byte(strings.Join(words, " "))
	}
	f.files[name] = string(data) + "\n"
	return nil
}

func (f *fake) Run(_ context.Context, c platform.Command) (platform.Result, error) {
	last := c.Argv[len(c.Argv)-1]
	answer := func(table map[string]string) (platform.Result, error) {
		if text, ok := table[last]; ok {
			return platform.Result{Stdout: []byte(text + "\n")}, nil
		}
		return platform.Result{Exit: 1, Stderr: []byte("no such file")}, nil
	}
	switch c.Argv[0] {
	case "stat":
		return answer(f.stats)
	case "readlink":
		return answer(f.links)
	case "ls":
		var names []string
		for name := range f.files {
			if rest, found := strings.CutPrefix(name, last+"/"); found {
				names = append(names, strings.Split(rest, "/")[0])
			}
		}
		return platform.Result{Stdout: []byte(strings.Join(names, "\n"))}, nil
	case "cat":
		return platform.Result{Stdout: []byte(f.status(c.Worker))}, nil
	}
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...) // the user's own commands
	out, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return platform.Result{Exit: failed.ExitCode(), Stdout: out, Stderr: failed.Stderr}, nil
	}
	return platform.Result{Stdout: out}, err
}

// status is what a process of the machine reads of itself.
func (f *fake) status(worker bool) string {
	cpus, group := "0-3", "/user.slice"
	if worker && !f.lies {
		if f.confined.CPUSet != "" {
			cpus, group = f.confined.CPUSet, "/user.slice/plimsoll"
		}
		if f.confined.Affinity != "" {
			cpus = f.confined.Affinity
		}
		if f.confined.Quota != "" {
			group = "/user.slice/plimsoll"
		}
	}
	return fmt.Sprintf("0::%s\nName:\tcat\nUmask:\t0022\nCpus_allowed:\tf\nCpus_allowed_list:\t%s\nMems_allowed:\t1\n", group, cpus)
}

func (f *fake) Confinement() platform.Confinement { return f.confined }

func (f *fake) Confinable(_ context.Context, c platform.Confinement) error {
	if c.Affinity == "9" || c.CPUSet == "9" {
		return errors.New("CPU 9 is not online here; online: 0-3")
	}
	return nil
}

func (f *fake) Confine(_ context.Context, c platform.Confinement) error {
	f.confined = c
	const group = "/sys/fs/cgroup/user.slice/plimsoll/"
	f.files[group+"cpuset.cpus"] = c.CPUSet + "\n"
	f.files[group+"cpu.max"] = "max 100000\n"
	var cpus float64
	if _, err := fmt.Sscan(c.Quota, &cpus); err == nil {
		f.files[group+"cpu.max"] = fmt.Sprintf("%.0f 100000\n", cpus*100000)
	}
	return nil
}

// bare hides every ability but those of a machine.
type bare struct{ platform.Machine }

// scratchFile is a real file, for commands.
func scratchFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "setting")
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}
