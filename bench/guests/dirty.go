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
	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/qemu"
)

// SoftDirty measures how long it takes to find and copy the pages that were written by the kernel's soft-dirty bits, for several sizes of
// memory and of what was written. It runs in a guest, whose kernel has these bits; that of the host may not.
func SoftDirty() ([]measured.Result, error) {
	k, dir, err := place()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	test := filepath.Join(dir, "pages.test")
	build := exec.Command("go", "test", "-c", "-o", test, "./internal/guest/pages")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the benchmark: %w: %s", err, out)
	}
	agent := &program{name: "pages", source: agentSource, modules: []string{"channel"}, files: map[string]string{"pages.test": test}}
	if err := agent.build(dir, k); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*guestLimit)
	defer cancel()
	shape := hardware.Shape{Name: "bench", CPU: hardware.CPU{Count: 2}, Memory: hardware.Memory{Size: 3 << 30}}
	r, err := runInGuest(ctx, shape, qemu.Options{
		Kernel: k, Initramfs: agent.archive, Dir: dir, BootTimeout: guestLimit, Accelerator: hardware.TCG,
	}, []string{"/pages.test", "-test.run=TestTrack", "-test.bench=TakeWritten", "-test.benchtime=20x", "-test.v"})
	if err != nil {
		return nil, err
	}
	if bytes.Contains(r.Stdout, []byte("SKIP")) {
		return nil, fmt.Errorf("the kernel of the guest has no soft-dirty bits: %s", r.Stdout)
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
		if k, _ := fmt.Sscanf(in.Text(), "BenchmarkTakeWritten/%s %d %g ns/op", &name, &n, &ns); k < 3 {
			continue
		}
		part := strings.Split(name, "/")
		by := "soft-dirty bits"
		if strings.HasPrefix(part[2], "comparison") {
			by = "comparison"
		}
		lines = append(lines, measured.Result{What: fmt.Sprintf("find and copy %s of %s by %s, in a guest", part[1], part[0], by), Got: ns / 1e6, Unit: "ms"})
	}
	if len(lines) == 0 {
		return nil, errors.New("the kernel of the guest has no soft-dirty bits, or the benchmark printed nothing: " + string(output))
	}
	for i := range lines {
		lines[i].Against, lines[i].Limit = "the first line", lines[0].Got
	}
	return lines, nil
}
