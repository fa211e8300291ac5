package local

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
)

// guard is a process that outlives plimsoll by an instant. It knows the process
// groups that run, by a pipe that the kernel closes when plimsoll ends in
// whatever way, and then kills them. The kernel's own signal on the death of a
// parent reaches only the first process of each group.
type guard struct {
	mu   sync.Mutex
	pipe io.WriteCloser // nil until the first command
	cmd  *exec.Cmd
}

// The guard ignores what a terminal or a service manager sends to end plimsoll,
// because its work begins only then.
const guardScript = `trap '' HUP INT TERM
groups=' '
while read -r what group; do
	case $what in
	add) groups="$groups$group " ;;
	drop) groups="${groups%% $group *} ${groups#* $group }" ;;
	esac
done
for group in $groups; do kill -9 "-$group"; done`

func (g *guard) start() error {
	if g.pipe != nil {
		return nil
	}
	cmd := exec.Command("sh", "-c", guardScript)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("start the guard of commands: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the guard of commands: %w", err)
	}
	g.pipe, g.cmd = pipe, cmd
	return nil
}

// ready starts the guard where it does not run yet.
func (g *guard) ready() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.start()
}

func (g *guard) add(group int) error  { return g.tell("add", group) }
func (g *guard) drop(group int) error { return g.tell("drop", group) }

func (g *guard) tell(what string, group int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.start(); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(g.pipe, "%s %d\n", what, group); err != nil {
		return fmt.Errorf("the guard of commands is gone: %w", err)
	}
	return nil
}

// close ends the guard. Groups that still run end with it.
func (g *guard) close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pipe == nil {
		return nil
	}
	err := errors.Join(g.pipe.Close(), g.cmd.Wait())
	g.pipe, g.cmd = nil, nil
	var failed *exec.ExitError
	if errors.As(err, &failed) { // its last kill found nothing left
		return nil
	}
	return err
}
