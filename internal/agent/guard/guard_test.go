package guard

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/platform"
)

// fake is a machine with files in memory that notes what runs.
type fake struct {
	files map[string]string
	ran   [][]string
	stuck string // a file that cannot be written

	during func() // called while a command runs
	stdin  io.Reader
}

func (f *fake) Name() string { return "fake" }
func (f *fake) Run(_ context.Context, c platform.Command) (platform.Result, error) {
	f.ran = append(f.ran, c.Argv)
	f.stdin = c.Stdin
	if f.during != nil {
		f.during()
	}
	return platform.Result{}, nil
}
func (f *fake) ReadFile(_ context.Context, name string) ([]byte, error) {
	text, ok := f.files[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return []byte(text), nil
}
func (f *fake) WriteFile(_ context.Context, name string, data []byte) error {
	if name == f.stuck {
		return errors.New("stuck")
	}
	f.files[name] = string(data)
	return nil
}
func (f *fake) Self(context.Context) (string, error)                   { return "/opt/plimsoll", nil }
func (f *fake) Confinement() platform.Confinement                      { return platform.Confinement{} }
func (f *fake) Confine(context.Context, platform.Confinement) error    { return nil }
func (f *fake) Confinable(context.Context, platform.Confinement) error { return nil }
func (f *fake) Clock(context.Context) (platform.Clock, error)          { return platform.Clock{}, nil }
func (f *fake) Space(context.Context, string) (platform.Space, error)  { return platform.Space{}, nil }

func guard(t *testing.T, f *fake, rules Rules) *Machine {
	t.Helper()
	rules.Scratch, rules.Subprocesses = "/scratch", []string{"worker"}
	if rules.Memory == "" {
		rules.Memory = filepath.Join(t.TempDir(), "changed.json")
	}
	w, err := New(t.Context(), f, rules)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestCommands(t *testing.T) {
	for _, c := range []struct {
		argv []string
		ok   bool
	}{
		{[]string{"fio", "--version"}, true},
		{[]string{"/usr/sbin/nginx", "-V"}, true},
		{[]string{"/usr/sbin/nginx", "-c", "x"}, false},
		{[]string{"/opt/plimsoll", "worker"}, true},
		{[]string{"setpriv", "--reuid=1", "--regid=1", "--clear-groups", "--pdeathsig", "keep", "--", "memcached", "-l", "127.0.0.1", "-p", "1"}, true},
		{[]string{"setpriv", "--reuid=1", "--", "redis-server", "x"}, false},
		{[]string{"setpriv", "--reuid=1", "sh", "--", "nproc"}, false},
		{[]string{"setpriv", "--", "setpriv", "--", "nproc"}, false},
		{[]string{"setpriv", "--", "/opt/plimsoll", "run"}, false},
		{[]string{"rm", "-rf", "--", "/scratch/a"}, true},
		{[]string{"tee", "--", "/scratch/a"}, true},
		{[]string{"wipefs", "--no-act", "--", "/dev/sda"}, true},
		{[]string{"wipefs", "-a", "/dev/sda"}, false},
		{[]string{"losetup", "/dev/loop0", "/scratch/a"}, false},
		{[]string{"truncate", "--size=0", "--", "/etc/passwd"}, false},
		{[]string{"ip", "netns", "exec", "a", "sh"}, false},
		{[]string{"sh", "-c", "reboot"}, false},
		{[]string{"/bin/bash"}, false},
		{[]string{"/scratch/fio"}, false},
		{[]string{"./fio"}, false},
		{[]string{"/opt/plimsoll", "run", "x"}, false},
		{[]string{"/opt/plimsoll", "worker", "x"}, false},
		{[]string{"setpriv", "--", "sh", "-c", "x"}, false},
		{[]string{"setpriv", "sh"}, false},
		{[]string{"rm", "-rf", "--", "/"}, false},
		{[]string{"rm", "-rf", "--", "/scratch/../etc"}, false},
		{[]string{"rm", "-rf", "/etc"}, false},
		{[]string{"tee", "--", "/etc/passwd"}, false},
		{[]string{"tee", "--", "/scratchy"}, false},
		{nil, false},
	} {
		f := &fake{}
		_, err := guard(t, f, Rules{}).Run(t.Context(), platform.Command{Argv: c.argv})
		if ran := len(f.ran) == 1; ran != c.ok || (err == nil) != c.ok {
			t.Errorf("%q: ran %v, %v", c.argv, ran, err)
		}
		if _, err := guard(t, f, Rules{Commands: true}).Run(t.Context(), platform.Command{Argv: c.argv}); err != nil {
			t.Errorf("%q is refused although the owner gave leave: %v", c.argv, err)
		}
	}
}

func TestFiles(t *testing.T) {
	for name, ok := range map[string]bool{
		"/scratch/a": true, "/sys/block/sda/queue/scheduler": true, "/proc/sys/vm/swappiness": true,
		"/etc/passwd": false, "/proc/sys/kernel/core_pattern": false, "/proc/sys/vm/../kernel/core_pattern": false, "/sys/../etc/passwd": false,
		"/scratch/../etc/x": false, "a": false, "/proc/sys/kernel/usermodehelper/bset": false, "/proc/1/oom_adj": false,
	} {
		f := &fake{files: map[string]string{"/sys/block/sda/queue/scheduler": "x", "/proc/sys/vm/swappiness": "60"}}
		before := len(f.files)
		err := guard(t, f, Rules{}).WriteFile(t.Context(), name, []byte("new"))
		if (err == nil) != ok || !ok && (!errors.Is(err, ErrNotAllowed) || len(f.files) != before) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSettingsArePutBack(t *testing.T) {
	const swap, scheduler, gone = "/proc/sys/vm/swappiness", "/sys/block/sda/queue/scheduler", "/sys/gone"
	f := &fake{files: map[string]string{swap: "60\n", scheduler: "none [mq-deadline] bfq\n", gone: "1\n"}}
	memory := filepath.Join(t.TempDir(), "state", "changed.json")
	w := guard(t, f, Rules{Memory: memory})
	for _, level := range []string{"10", "20"} {
		if err := errors.Join(w.WriteFile(t.Context(), swap, []byte(level)), w.WriteFile(t.Context(), scheduler, []byte("bfq")), w.WriteFile(t.Context(), gone, []byte("0"))); err != nil {
			t.Fatal(err)
		}
	}
	f.stuck = scheduler
	// The agent is killed here, and another one takes over. One setting cannot be written at
	// first.
	again := &Machine{Whole: f, rules: Rules{Scratch: "/scratch", Memory: memory}}
	if err := again.recall(); err != nil {
		t.Fatal(err)
	}
	if err := again.Restore(t.Context()); err == nil {
		t.Error("a setting that could not be put back is no error")
	}
	if f.files[swap] != "60" || f.files[gone] != "1" {
		t.Errorf("after putting back: %v", f.files)
	}
	f.stuck = ""
	guard(t, f, Rules{Memory: memory})
	if f.files[scheduler] != "mq-deadline" {
		t.Errorf("the scheduler was put back to %q", f.files[scheduler])
	}
	if _, err := os.Stat(memory); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something is still remembered: %v", err)
	}
}

func TestWithoutMemoryNothingIsWritten(t *testing.T) {
	const swap = "/proc/sys/vm/swappiness"
	f := &fake{files: map[string]string{swap: "60"}}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w := &Machine{Whole: f, rules: Rules{Scratch: "/scratch", Memory: filepath.Join(file, "changed.json")}}
	if err := w.WriteFile(t.Context(), swap, []byte("1")); err == nil || f.files[swap] != "60" {
		t.Errorf("a setting was written whose former value cannot be kept: %v", err)
	}
}
