package guests

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"plimsoll/bench/measured"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/guest"
	"plimsoll/internal/platforms/local"
)

// SoftDirty measures how long it takes to find and copy the pages that were written by the kernel's soft-dirty bits, for several sizes of
// memory and of what was written. It runs in a guest, whose kernel has these bits; that of the host may not.
func SoftDirty() ([]measured.Result, error) {
	dir, err := os.MkdirTemp("", "plimsoll-bench-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "pages.test")
	build := exec.Command("go", "test", "-c", "-o", program, "./internal/guest/pages")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the benchmark: %w: %s", err, out)
	}
	text, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	p, err := guest.Kind(local.Kind()).Open(ctx, parameter.Settings{"memory": "3GiB", "vcpus": "2"}, 1)
	if err != nil {
		return nil, err
	}
	defer p.Close() //nolint:errcheck // the results are there
	const script = "cat >/scratch/pages.test && chmod 700 /scratch/pages.test && exec /scratch/pages.test -test.run=^$ -test.bench=TakeTracked -test.benchtime=20x"
	r, err := p.Machine().Run(ctx, platform.Command{Argv: []string{"sh", "-c", script}, Stdin: bytes.NewReader(text)})
	if err != nil {
		return nil, err
	}
	if r.Exit != 0 {
		return nil, fmt.Errorf("the benchmark in the guest ended with %d: %s%s", r.Exit, r.Stdout, r.Stderr)
	}
	return tracked(r.Stdout)
}

// tracked reads the output of the benchmark. Its first line is what the others are compared with.
func tracked(output []byte) (lines []measured.Result, err error) {
	in := bufio.NewScanner(bytes.NewReader(output))
	for in.Scan() {
		var name string
		var n int
		var ns float64
		if k, _ := fmt.Sscanf(in.Text(), "BenchmarkTakeTracked/%s %d %g ns/op", &name, &n, &ns); k < 3 {
			continue
		}
		size, written, _ := strings.Cut(strings.TrimPrefix(name, "memory="), "/written=")
		written, _, _ = strings.Cut(written, "-")
		lines = append(lines, measured.Result{What: fmt.Sprintf("find and copy %s of %s by soft-dirty bits, in a guest", written, size), Got: ns / 1e6, Unit: "ms"})
	}
	if len(lines) == 0 {
		return nil, errors.New("the kernel of the guest has no soft-dirty bits, or the benchmark printed nothing: " + string(output))
	}
	for i := range lines {
		lines[i].Against, lines[i].Limit = "the first line", lines[0].Got
	}
	return lines, nil
}
