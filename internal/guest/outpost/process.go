package outpost

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"plimsoll/internal/guest/child"
)

// process is a QEMU on this host, which ends with this process.
type process struct {
	cmd   *exec.Cmd
	pid   int
	ended <-chan struct{}
}

// output passes on what QEMU prints.
type output struct {
	wire *wire
	kind kind
}

func (o output) Write(p []byte) (int, error) { return len(p), o.wire.send(o.kind, p) }

// launch starts QEMU, with files from descriptor 3 on.
func launch(o Order, w *wire, files ...*os.File) (*process, error) {
	p := &process{cmd: exec.Command(o.Binary, o.Args...)}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.ExtraFiles = output{w, kindConsole}, output{w, kindComplaint}, files
	p.cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "CEPH_ARGS=") })
	var err error
	if p.ended, err = child.Start(p.cmd); err != nil {
		return nil, fmt.Errorf("start QEMU: %w", err)
	}
	p.pid = p.cmd.Process.Pid
	return p, nil
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have exited already
	<-p.ended
}

func (p *process) how() string { return fmt.Sprint(p.cmd.ProcessState) }
