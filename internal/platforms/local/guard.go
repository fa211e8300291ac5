package local

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
)

// guard is a process that outlives plimsoll by an instant. It knows the marks of
// the commands that run, by a pipe that the kernel closes when plimsoll ends in
// whatever way, and then kills every process that carries one. The kernel's own
// signal on the death of a parent reaches only the first process of a command.
// It kills the process groups of commands as well, for those that overwrite
// their environment, mark and all, to show a title, as nginx does.
//
// The first process of a machine or a container needs none: the kernel ends all
// others with it.
type guard struct {
	mu   sync.Mutex
	pipe io.WriteCloser // nil until the first command, and where none is needed
	cmd  *exec.Cmd
}

// The guard ignores what a terminal or a service manager sends to end plimsoll,
// because its work begins only then.
//
// It keeps a variable for each mark: the shell finds those at once, whereas to cut a
// mark out of one long text takes ever longer where there are hundreds of daemons.
const guardScript = `trap '' HUP INT TERM
while read -r what mark group; do
	case $what in
	add) eval "mark_$mark=1" ;;
	lead) eval "group_$mark=$group" ;;
	drop) unset "mark_$mark" "group_$mark" ;;
	esac
done
groups=$(set | sed -n "s/^group_[A-Za-z0-9_]*='*\\([0-9]*\\)'*$/\\1/p")
marks=$(set | sed -n "s/^mark_\\([A-Za-z0-9_]*\\)=.*/\\1/p")
for group in $groups; do
	kill -s KILL -- "-$group" 2>/dev/null
done
for round in 1 2 3 4 5; do
	for mark in $marks; do
		for file in $(grep -lzxF -e "` + markName + `=$mark" /proc/[0-9]*/environ 2>/dev/null); do
			process=${file#/proc/}
			kill -9 "${process%%/*}" 2>/dev/null
		done
	done
done`

func (g *guard) start() error {
	if g.pipe != nil || os.Getpid() == 1 {
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

func (g *guard) add(mark string) error  { return g.tell("add", mark) }
func (g *guard) drop(mark string) error { return g.tell("drop", mark) }

// lead names the process group of a command that has started.
func (g *guard) lead(mark string, group int) error {
	return g.tell("lead", mark+" "+strconv.Itoa(group))
}

func (g *guard) tell(what, mark string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.start(); err != nil || g.pipe == nil {
		return err
	}
	if _, err := fmt.Fprintf(g.pipe, "%s %s\n", what, mark); err != nil {
		return fmt.Errorf("the guard of commands exited: %w", err)
	}
	return nil
}

// close ends the guard. Commands that still run end with it.
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
