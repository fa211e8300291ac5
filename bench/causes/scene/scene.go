// Package scene makes workloads and troubles on this host, and takes them back in the reverse order.
package scene

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Scene is what was made on this host: a folder, processes, settings, devices.
type Scene struct {
	context.Context
	Dir       string // of its own, which every user can reach
	Made      bool   // with the cause, and not without
	Kept      *Kept  // from the scenes before
	seed      uint64
	self      string // the program whose parts are clients, servers and hogs
	undo      []func() error
	processes []*Process
}

// New makes an empty scene in a new folder. Self is the program that package program is part of.
func New(ctx context.Context, self string, kept *Kept, seed uint64, made bool) (*Scene, error) {
	dir, err := os.MkdirTemp("/tmp", "plimsoll-causes-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the processes of a cause: %w", err)
	}
	s := &Scene{Context: ctx, Dir: dir, Made: made, seed: seed, Kept: kept, self: self}
	s.Undo(func() error { return os.RemoveAll(dir) })
	return s, os.Chmod(dir, 0o755)
}

// Undo has f called when the scene closes, before what was to be undone earlier.
func (s *Scene) Undo(f func() error) { s.undo = append(s.undo, f) }

// Close takes everything back, the latest first, whatever of it fails.
func (s *Scene) Close() error {
	var all error
	for _, f := range slices.Backward(s.undo) {
		all = errors.Join(all, f())
	}
	s.undo = nil
	return all
}

// Path is a file in the scene's folder.
func (s *Scene) Path(name string) string { return filepath.Join(s.Dir, name) }

// Between is a whole number from least to most. The seed and the two decide it, so that a workload is
// the same without its cause as with it.
func (s *Scene) Between(least, most int) int {
	return least + rand.New(rand.NewPCG(s.seed, uint64(least)<<32+uint64(most))).IntN(most-least+1)
}

// Either is the first value where the scene is made with its cause, and the second where it is not.
func Either[T any](s *Scene, with, without T) T {
	if s.Made {
		return with
	}
	return without
}

// Run runs a command to its end and returns what it printed.
func (s *Scene) Run(argv ...string) (string, error) {
	out, err := exec.CommandContext(s, argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, last(out))
	}
	return string(out), nil
}

// afterwards runs a command while the scene closes, where its context may have ended.
func afterwards(argv ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, last(out))
	}
	return nil
}

const (
	patience = 20 * time.Second      // for a process to end, or to be ready
	pause    = 20 * time.Millisecond // between two looks at a condition
	tail     = 500                   // bytes of a program's output in an error
)

func last(out []byte) string {
	return strings.TrimSpace(string(out[max(0, len(out)-tail):]))
}

// Wait waits until a condition holds.
func (s *Scene) Wait(what string, holds func() bool) error {
	for deadline := time.Now().Add(patience); ; {
		if holds() {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: not within %v", what, patience)
		}
		if err := s.Pause(pause); err != nil {
			return err
		}
	}
}

// Pause waits for a time, or until the scene's context ends.
func (s *Scene) Pause(d time.Duration) error {
	select {
	case <-s.Done():
		return s.Err()
	case <-time.After(d):
		return nil
	}
}

// Own gives the folder or file to the user nobody, and returns the prefix of commands that run as
// this user.
func Own(name string) (prefix []string, err error) {
	if err := os.Chown(name, nobody, nobody); err != nil {
		return nil, fmt.Errorf("give %s to the user nobody: %w", name, err)
	}
	return []string{"setpriv", fmt.Sprintf("--reuid=%d", nobody), fmt.Sprintf("--regid=%d", nobody), "--clear-groups", "--pdeathsig", "keep", "--"}, nil
}

const nobody = 65534

// Stall stops a process for a time in every period, until the scene closes.
func (p *Process) Stall(s *Scene, period, length time.Duration) {
	ctx, cancel := context.WithCancel(s)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			for _, step := range []struct {
				wait time.Duration
				then syscall.Signal
			}{{period - length, syscall.SIGSTOP}, {length, syscall.SIGCONT}} {
				select {
				case <-ctx.Done():
					p.signal(syscall.SIGCONT)
					return
				case <-time.After(step.wait):
					p.signal(step.then)
				}
			}
		}
	}()
	s.Undo(func() error {
		cancel()
		<-done
		return nil
	})
}
