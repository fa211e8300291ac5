package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"sync"

	"plimsoll/internal/platform"
)

// Self is the path of plimsoll on a machine, for services that are subcommands of it.
func Self(ctx context.Context, m platform.Machine) (string, error) {
	carrier, ok := m.(platform.Carrier)
	if !ok {
		return "", fmt.Errorf("machine %s has no copy of plimsoll: set the address of a running service", m.Name())
	}
	program, err := carrier.Self(ctx)
	if err != nil {
		return "", fmt.Errorf("find plimsoll on machine %s: %w", m.Name(), err)
	}
	return program, nil
}

// wholeProgram is the name of a copy of plimsoll in the folder of a service.
const wholeProgram = "plimsoll"

// Lean reports whether the program of a machine is plimsoll-agent, which lacks some subcommands. A guest starts it as its first process.
func Lean(program string) bool {
	name := path.Base(program)
	return name == "init" || strings.HasPrefix(name, "plimsoll-agent")
}

// Own is a service that is a subcommand of plimsoll. It reads its options from standard input,
// and prints one line when it listens.
type Own struct {
	Name    string // for messages
	Command string
	// Whole says that plimsoll-agent lacks the subcommand: a machine that has that program gets the one that runs here.
	Whole   bool
	Options func(place Location) ([]byte, error)
	// Ready parses the line, and connects.
	Ready func(ctx context.Context, line []byte) (Live, error)
}

// Start starts the subcommand, whose ports the kernel chooses.
func (o Own) Start(ctx context.Context, env Env) (Instance, error) {
	program, err := Self(ctx, env.Machine)
	if err != nil {
		return nil, err
	}
	var copied map[string]string
	if o.Whole && Lean(program) {
		own, err := os.Executable()
		if err != nil {
			return nil, err
		}
		copied, program = map[string]string{wholeProgram: own}, path.Join(env.Dir, wholeProgram)
	}
	return launch(ctx, env, Recipe{Name: o.Name, Daemon: func(place Location) (Daemon, error) {
		options, err := o.Options(place)
		said := &line{}
		return Daemon{
			Argv: []string{program, o.Command}, Stdin: options, Stdout: said, Copied: copied,
			Ready: func(ctx context.Context) (Live, error) {
				text, whole := said.text()
				if !whole {
					return Live{}, errors.New("it does not listen yet")
				}
				return o.Ready(ctx, text)
			},
		}, err
	}})
}

// line is the first line of output, with the address of a subcommand.
type line struct {
	mu   sync.Mutex
	data []byte
}

// Write receives output; it drops everything after the first line.
func (l *line) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !bytes.Contains(l.data, []byte("\n")) {
		l.data = append(l.data, p...)
	}
	return len(p), nil
}

// text is the first line; ok is false while it is incomplete.
func (l *line) text() (text []byte, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text, _, ok = bytes.Cut(l.data, []byte("\n"))
	return text, ok
}
