package classifier

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"plimsoll/internal/platform"
)

// Release is the version of ONNX Runtime that plimsoll fetches.
const Release = "1.32.0"

// engineScript computes, and convertScript makes ONNX files of Keras models.
var (
	//go:embed engine.py
	engineScript string
	//go:embed convert.py
	convertScript string
)

// Folder is the folder of the fetched engine and model, below the cache folder of a user.
func Folder(cache string) string { return filepath.Join(cache, "plimsoll", "classifier-"+Release) }

// finder prints the same folder on a machine.
const finder = `printf %s "${XDG_CACHE_HOME:-$HOME/.cache}/plimsoll/$1"`

// locate is the folder of the fetched engine and model on a machine.
func locate(ctx context.Context, m platform.Machine) (string, error) {
	r, err := m.Run(ctx, platform.Command{Argv: []string{"sh", "-c", finder, "sh", filepath.Base(Folder(""))}})
	if err != nil {
		return "", fmt.Errorf("find the folder of ONNX Runtime: %w", err)
	}
	return string(r.Stdout), nil
}

// asking prints the version of ONNX Runtime.
const asking = "import numpy, onnxruntime; print(onnxruntime.__version__)"

// runtime is the Python of a machine that has ONNX Runtime, and its version.
func (s Settings) runtime(ctx context.Context, m platform.Machine) (python, version string, err error) {
	python = s.Python
	if python == "" {
		folder, err := locate(ctx, m)
		if err != nil {
			return "", "", err
		}
		python = path.Join(folder, "bin", "python")
	}
	r, err := m.Run(ctx, platform.Command{Argv: []string{python, "-I", "-c", asking}})
	switch {
	case ctx.Err() != nil:
		return "", "", fmt.Errorf("find ONNX Runtime: %w", context.Cause(ctx))
	case err == nil && r.Exit == 0:
		return python, strings.TrimSpace(string(r.Stdout)), nil
	case s.Python != "" && err == nil:
		err = errors.New(lastLine(r.Stderr))
	}
	if s.Python != "" {
		return "", "", fmt.Errorf("%s has no ONNX Runtime: install it with %s -m pip install onnxruntime, or leave python out: %w", python, python, err)
	}
	return "", "", fmt.Errorf("ONNX Runtime is not in %s on machine %s: fetch it with plimsoll service classifier fetch (package onnxruntime %s of PyPI), or use engine go", path.Dir(path.Dir(python)), m.Name(), Release)
}

func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// run runs a program on this machine. Its error ends with the last line of the output.
func run(c *exec.Cmd) error {
	said, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, lastLine(said))
	}
	return nil
}
