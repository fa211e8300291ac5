package storage

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// fake is a machine that knows some files and some commands. A command that it
// does not know cannot be started, so that a test names all that is asked.
type fake struct {
	files    map[string]string
	commands map[string]platform.Result
	asked    []string
}

func (f *fake) Name() string { return "fake" }

func (f *fake) Run(ctx context.Context, c platform.Command) (platform.Result, error) {
	if err := ctx.Err(); err != nil {
		return platform.Result{}, err
	}
	line := strings.Join(c.Argv, " ")
	f.asked = append(f.asked, line)
	if r, ok := f.commands[line]; ok {
		return r, nil
	}
	return platform.Result{}, fmt.Errorf("start %s: %w", line, fs.ErrNotExist)
}

func (f *fake) ReadFile(_ context.Context, name string) ([]byte, error) {
	if text, ok := f.files[name]; ok {
		return []byte(text), nil
	}
	return nil, fmt.Errorf("read %s: %w", name, fs.ErrNotExist)
}

func (f *fake) WriteFile(_ context.Context, name string, data []byte) error {
	return fmt.Errorf("write %s: a check writes nothing", name)
}

func prints(text string) platform.Result { return platform.Result{Stdout: []byte(text)} }

func ends(status int, stderr string) platform.Result {
	return platform.Result{Exit: status, Stderr: []byte(stderr)}
}

func made(t *testing.T, s parameter.Settings) *disks {
	t.Helper()
	l, err := Kind().New(s)
	if err != nil {
		t.Fatal(err)
	}
	return l.(*disks)
}

// refused wants an error that says all of the phrases.
func refused(t *testing.T, err error, phrases ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("passed; want an error that says %q", phrases)
	}
	for _, p := range phrases {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("%q does not say %q", err, p)
		}
	}
	if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "%!") {
		t.Errorf("%q is not one plain line", err)
	}
}
