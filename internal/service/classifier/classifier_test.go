package classifier

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/service"
	"plimsoll/internal/service/servicetest"
)

// TestMain runs the classifier if this process was started as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Command {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		if err := Serve(ctx, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	loadtest.Parallel(4)
	os.Exit(m.Run())
}

func here(t *testing.T) platform.Machine {
	t.Helper()
	p, err := local.Kind().Open(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p.Machine()
}

func TestContract(t *testing.T) {
	t.Parallel()
	servicetest.Run(t, Kind(), servicetest.Options{
		Machine:    here(t),
		Unobserved: []string{"address", "python"},
		Settings:   []parameter.Settings{{"engine": "go", "model": "small"}, {"engine": "go", "model": "small", "threads": "2"}},
	})
}

func TestSettingsThatMakeNoSense(t *testing.T) {
	for _, c := range []struct {
		settings parameter.Settings
		want     string
	}{
		{parameter.Settings{"model": "resnet"}, `model "resnet" is neither cnn nor small, nor a path with a hash`},
		{parameter.Settings{"model": "/m.onnx"}, "add the first 16 digits or more that sha256sum prints"},
		{parameter.Settings{"model": "/m.onnx@0123"}, `"0123" is no SHA-256 of 16 digits or more`},
		{parameter.Settings{"model": "/m.onnx@0123456789abcdeg"}, "is no SHA-256"},
		{parameter.Settings{"model": "m.onnx@0123456789abcdef"}, "must be the absolute path"},
		{parameter.Settings{"engine": "go", "batch": "4"}, "batch is for engine onnxruntime"},
		{parameter.Settings{"engine": "go", "python": "/usr/bin/python3"}, "python is for engine onnxruntime"},
		{parameter.Settings{"address": "a:1", "threads": "2"}, "threads cannot be set on a server you provide"},
		{parameter.Settings{"threads": "0"}, "at least 1"},
	} {
		if _, err := Kind().New(c.settings); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v gives %v, want %q", c.settings, err, c.want)
		}
	}
}

// host is a machine with or without Python and files.
type host struct {
	platform.Machine
	version string // of ONNX Runtime
	files   map[string][]byte
}

func (h host) Name() string                         { return "here" }
func (h host) Self(context.Context) (string, error) { return "/plimsoll", nil }

func (h host) Run(_ context.Context, c platform.Command) (platform.Result, error) {
	switch {
	case c.Argv[0] == "sh":
		return platform.Result{Stdout: []byte("/c/plimsoll/classifier")}, nil
	case h.version == "" && c.Argv[0] == "/c/plimsoll/classifier/bin/python":
		return platform.Result{}, fs.ErrNotExist
	case h.version == "":
		return platform.Result{Exit: 1, Stderr: []byte("Traceback\nModuleNotFoundError: No module named 'onnxruntime'\n")}, nil
	}
	return platform.Result{Stdout: []byte(h.version + "\n")}, nil
}

func (h host) ReadFile(_ context.Context, name string) ([]byte, error) {
	if data, ok := h.files[name]; ok {
		return data, nil
	}
	return nil, fs.ErrNotExist
}

func TestCheckNamesWhatIsLacking(t *testing.T) {
	sum := func(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }
	digits := shape(t, 28, 28, 1)
	files := map[string][]byte{"/small.onnx": small, "/digits.onnx": digits, "/text": []byte("hello")}
	for _, c := range []struct {
		host     host
		settings parameter.Settings
		want     string
	}{
		{host{}, parameter.Settings{"model": "small"}, "ONNX Runtime is not in /c/plimsoll/classifier on machine here: fetch it with plimsoll service classifier fetch (package onnxruntime 1.32.0 of PyPI), or use engine go"},
		{host{}, parameter.Settings{"model": "small", "python": "/usr/bin/python3"}, "/usr/bin/python3 has no ONNX Runtime: install it with /usr/bin/python3 -m pip install onnxruntime, or leave python out: ModuleNotFoundError: No module named 'onnxruntime'"},
		{host{version: "1.20.0"}, nil, "model cnn is not in /c/plimsoll/classifier: fetch it with plimsoll service classifier fetch (package cifar-10-model 7.4.0 of PyPI), or use model small"},
		{host{version: "1.20.0", files: map[string][]byte{"/c/plimsoll/classifier/cnn.onnx": small}}, nil, "it is another file than the study names"},
		{host{version: "1.20.0", files: files}, parameter.Settings{"model": "/none.onnx@0123456789abcdef"}, "model /none.onnx does not exist on machine here"},
		{host{version: "1.20.0", files: files}, parameter.Settings{"model": "/small.onnx@0123456789abcdef"}, "model /small.onnx has the SHA-256 " + sum(small)[:16] + " instead of 0123456789abcdef"},
		{host{version: "1.20.0", files: files}, parameter.Settings{"model": "/text@" + sum([]byte("hello"))}, "model /text does not classify the images of CIFAR-10: it is damaged, or no ONNX file"},
		{host{version: "1.20.0", files: files}, parameter.Settings{"model": "/digits.onnx@" + sum(digits)[:20]}, "model /digits.onnx does not classify the images of CIFAR-10: its input is float [N,28,28,1] instead of float [N,32,32,3] or [N,3,32,32]"},
		{host{version: "1.20.0", files: files}, parameter.Settings{"model": "/small.onnx@" + sum(small)}, ""},
		{host{}, parameter.Settings{"model": "small", "engine": "go"}, ""},
	} {
		s, err := Kind().New(c.settings)
		if err != nil {
			t.Fatal(err)
		}
		needs, err := s.Check(t.Context(), service.Env{Machine: c.host})
		if c.want == "" && (err != nil || needs.Versions["model"] == "" || needs.Versions["onnxruntime"] != c.host.version) ||
			c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%v: %+v, %v; want %q", c.settings, needs, err, c.want)
		}
	}
}

// shape is a model with an input of that shape, and nothing else.
func shape(t *testing.T, dims ...byte) []byte {
	t.Helper()
	all := []byte{10, 0} // a dimension without a value
	for _, d := range dims {
		all = append(all, 10, 2, 8, d)
	}
	value := func(field byte, name string, dims []byte) []byte {
		tensor := append([]byte{8, 1, 18, byte(len(dims))}, dims...)
		kind := append([]byte{10, byte(len(tensor))}, tensor...)
		v := append(append([]byte{10, byte(len(name))}, name...), append([]byte{18, byte(len(kind))}, kind...)...)
		return append([]byte{field<<3 | 2, byte(len(v))}, v...)
	}
	graph := append(value(11, "in", all), value(12, "out", []byte{10, 0, 10, 2, 8, 10})...)
	return append([]byte{7<<3 | 2, byte(len(graph))}, graph...)
}

// Fetching names the missing program, and leaves no files after a failure.
func TestFetch(t *testing.T) {
	programs, cache := t.TempDir(), t.TempDir()
	t.Setenv("PATH", programs)
	if err := Fetch(t.Context(), Folder(cache)); err == nil || !strings.Contains(err.Error(), "apt install python3 python3-venv") {
		t.Errorf("without Python: %v", err)
	}
	environment := `[ "$2" = venv ] && exec /bin/mkdir -p "$3/bin" && exit`
	for script, want := range map[string]string{
		"echo some; echo ensurepip is not available; exit 1": "ensurepip is not available",
		environment: "install ONNX Runtime with pip",
	} {
		if err := os.WriteFile(filepath.Join(programs, "python3"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := Fetch(t.Context(), Folder(cache)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s gives %v", script, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(cache, "plimsoll", "*")); len(left) > 0 {
		t.Errorf("there is %v", left)
	}
	err := Convert(t.Context(), Folder(cache), Conversion{Input: "pixels"})
	if err == nil || !strings.Contains(err.Error(), "fetch it with plimsoll service classifier fetch") {
		t.Errorf("convert without an environment: %v", err)
	}
	if err := Convert(t.Context(), Folder(cache), Conversion{Input: "raw"}); err == nil || !strings.Contains(err.Error(), "must be pixels, unit or centred") {
		t.Errorf("convert for an unknown input: %v", err)
	}
}

// An engine whose process ends takes the server with it, which names the reason.
func TestEngineThatDies(t *testing.T) {
	python := filepath.Join(t.TempDir(), "python")
	for script, want := range map[string]string{
		"exit 3": "start ONNX Runtime with model small: exit status 3",
		"echo '{}'; /usr/bin/head -c 20 >&2; exit 4": "",
	} {
		if err := os.WriteFile(python, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		o := order{Engine: onnxRuntime, Model: smallModel, Batch: 1, Python: python}
		m, err := o.open()
		if err != nil {
			t.Fatal(err)
		}
		e, err := newRuntime(t.Context(), o, m)
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s gives %v, want %q", script, err, want)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		j := jobs.Get().(*job)
		for err == nil { // until the pipe notices
			if err = e.submit([]*job{j}); err == nil {
				err = e.collect([]*job{j})
			}
		}
		if !strings.Contains(err.Error(), "exit status 4") && !errors.Is(err, syscall.EPIPE) {
			t.Errorf("%s gives %v", script, err)
		}
		e.close()
	}
}
