// Command plimsoll-agent is plimsoll's own program on other machines: the first
// process of a guest, the far side of ssh, and the worker and the answering peers
// that run there. It is small, static and has no commands for users.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"plimsoll/internal/agent/boot"
	"plimsoll/internal/agent/guard"
	"plimsoll/internal/agent/remote"
	"plimsoll/internal/agent/scratch"
	"plimsoll/internal/agent/toolbox"
	"plimsoll/internal/catalog/subprocess"
	"plimsoll/internal/console"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/workload"
)

// version is set by the build.
var version = "unknown"

// programName is as package program has it, which would bring much more with it.
const programName = "plimsoll-agent"

// The exit statuses are those of plimsoll.
const (
	exitDone    = 0
	exitMistake = 2
	exitTrouble = 3
)

const usage = `plimsoll-agent is started by plimsoll, on machines and in guests.
  plimsoll-agent serve [DIR]   serve the lab on standard input and output; then remove the scratch folder DIR
  plimsoll-agent port [NAME]   serve labs on this virtual machine's virtio port NAME (default plimsoll)
  plimsoll-agent version       the build`

func main() {
	os.Exit(Main(os.Args, os.Stdout, os.Stderr))
}

// kinds are the workloads whose load a worker makes.
func kinds() []workload.Kind { return subprocess.Workloads(subprocess.LabParts{}) }

// Main runs one command line, program name first, and returns its exit status.
func Main(argv []string, out, complaints io.Writer) int {
	name := filepath.Base(argv[0])
	if os.Getpid() == 1 && name == "init" {
		start()
	}
	if name != "init" && name != programName {
		if exit, known := toolbox.Run(name, toolbox.Call{Args: argv[1:], Stdin: os.Stdin, Stdout: out, Stderr: complaints}); known {
			return exit
		}
	}
	args := argv[1:]
	ok, err := subprocess.Serve(args, kinds, os.Stdin, out)
	switch {
	case ok:
	case len(args) == 1 && args[0] == "version":
		fmt.Fprintln(out, programName, version)
	case len(args) == 1 && args[0] == "serve":
		err = serve("")
	case len(args) == 2 && args[0] == "serve":
		err = serve(args[1])
	case len(args) == 1 && args[0] == "port":
		err = servePort("", out)
	case len(args) == 2 && args[0] == "port":
		err = servePort(args[1], out)
	default:
		fmt.Fprintln(complaints, usage)
		return exitMistake
	}
	if err != nil {
		fmt.Fprintf(complaints, "%s %v\n", programName, err)
		return exitTrouble
	}
	return exitDone
}

// start lives as the first process of a guest.
func start() {
	boot.Init(context.Background(), boot.Options{
		Version: version, Self: "/init", Programs: toolbox.Names(), Console: os.Stdout,
		Open: func(ctx context.Context) (platform.Machine, error) {
			p, err := local.Kind().Open(ctx, nil, 0)
			if err != nil {
				return nil, err
			}
			return p.Machine(), nil
		},
	})
}

// serve obeys the lab at the other end of standard input and output, until that
// ends or a signal ends this program.
func serve(dir string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("serve: %w", err)
		}
	}()
	var folder *scratch.Folder
	if dir != "" {
		if folder, err = scratch.Take(dir); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, leave(dir, folder.Remove)) }()
	}
	console.Survive() // the lab may go away in the middle of an answer
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	return guarded(ctx, dir, folder, func(s remote.Server) error {
		err := s.Serve(ctx, newStdio())
		if errors.Is(err, io.EOF) {
			return nil // the lab closed the connection
		}
		return err
	})
}

// guarded serves this machine. With a folder dir, what the lab changes is remembered in it and put back; so is what dead
// agents beside it changed, where it is a scratch folder.
func guarded(ctx context.Context, dir string, folder *scratch.Folder, serve func(remote.Server) error) (err error) {
	p, err := local.Kind().Open(ctx, nil, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	server := remote.Server{Machine: p.Machine(), Version: version}
	if whole, ok := server.Machine.(guard.Whole); ok && dir != "" {
		if folder != nil {
			folder.Sweep(func(dead string) error {
				_, err := guard.New(ctx, whole, rules(dead))
				return err
			})
		}
		g, err := guard.New(ctx, whole, rules(dir))
		if err != nil {
			return err
		}
		server.Machine, server.Restore = g, g.Restore
	}
	return serve(server)
}

// rules of an agent in a folder of its own: the lab may do here what its user may do; but what it changes and does not
// put back itself, because it died, is put back.
func rules(dir string) guard.Rules {
	return guard.Rules{Commands: true, Scratch: dir, Memory: filepath.Join(dir, "changed.json")}
}

// leave removes the folder of an agent. It stays where a setting could not be put back: the former values are in it.
func leave(dir string, remove func() error) error {
	if _, err := os.Lstat(rules(dir).Memory); err == nil {
		return fmt.Errorf("the original values of settings that were not restored are in %s", rules(dir).Memory)
	}
	return remove()
}

// stdio is standard input and output as a connection.
type stdio struct{ in, out *os.File }

// newStdio lets a Read under way end when the connection is closed: that takes
// files that do not block.
func newStdio() *stdio {
	s := &stdio{os.Stdin, os.Stdout}
	if syscall.SetNonblock(0, true) == nil {
		s.in = os.NewFile(0, "standard input")
	}
	if syscall.SetNonblock(1, true) == nil {
		s.out = os.NewFile(1, "standard output")
	}
	return s
}

// Read reads standard input.
func (s *stdio) Read(p []byte) (int, error) { return s.in.Read(p) }

// Write writes standard output.
func (s *stdio) Write(p []byte) (int, error) { return s.out.Write(p) }

// Close closes both.
func (s *stdio) Close() error { return errors.Join(s.in.Close(), s.out.Close()) }
