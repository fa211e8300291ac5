// Package local is the platform of the machine that plimsoll runs on.
//
// Commands run in process groups of their own, so that an interrupt of plimsoll
// does not reach them by chance, and every process of them dies with plimsoll,
// however it dies: the kernel ends the command itself, and a guard ends what it
// has started. Workers can be confined to CPUs and to a share of CPU time.
package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/internal/hostlock"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// Settings are the settings of the platform.
type Settings struct{}

// Kind is the platform's entry in the catalog.
func Kind() platform.Kind {
	return platform.Kind{
		Name:     "local",
		Doc:      "the machine on which plimsoll runs",
		Defaults: Settings{},
		Sweep:    func(ctx context.Context) ([]string, error) { return nil, sweep(ctx) },
		Open: func(ctx context.Context, settings parameter.Settings, _ uint64) (platform.Platform, error) {
			var s Settings
			if err := parameter.Decode(&s, settings); err != nil {
				return nil, err
			}
			return open(ctx)
		},
	}
}

type local struct {
	machine *machine
	mu      sync.Mutex
	seats   map[string][]*groupMember // by group
}

func (l *local) Machine() platform.Machine { return l.machine }

// Close lifts the confinement of workers and lets the guard go.
func (l *local) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err := l.machine.Confine(ctx, platform.Confinement{})
	return errors.Join(err, l.machine.guard.close())
}

// open also removes the control groups of a dead run, with its remaining processes.
func open(ctx context.Context) (*local, error) {
	name, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("name of this machine: %w", err)
	}
	m := &machine{name: name, guard: &guard{}, grace: 10 * time.Second}
	if err := sweep(ctx); err != nil {
		return nil, err
	}
	return &local{machine: m}, nil
}

// machine is this machine.
type machine struct {
	name  string
	guard *guard
	grace time.Duration // between the request to stop and the end by force

	commands atomic.Uint64 // started so far

	mu      sync.Mutex // guards the fields below
	confine platform.Confinement
	groups  []group
}

func (m *machine) Name() string { return m.name }

// Local is true: this is the host of the process.
func (m *machine) Local() bool { return true }

// Self is the running program itself.
func (m *machine) Self(context.Context) (string, error) { return os.Executable() }

// Claim keeps other runs on this machine from settings.
func (m *machine) Claim(ctx context.Context, c platform.Claim) (release func(), err error) {
	release, err = hostlock.Take(ctx, hostlock.Claim{Run: c.Run, Dir: c.Dir, Log: c.Log, Lab: c.Lab, Names: c.Names})
	if held := (*hostlock.HeldError)(nil); errors.As(err, &held) {
		return nil, claimed{held}
	}
	return release, err
}

// claimed is a platform.ErrClaimed that names the run.
type claimed struct{ *hostlock.HeldError }

// Is supports errors.Is.
func (claimed) Is(target error) bool { return target == platform.ErrClaimed }

func (m *machine) ReadFile(ctx context.Context, name string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return os.ReadFile(name)
}

// WriteFile makes a file that is not there, except below /sys and /proc, where
// the text is handed to the kernel in one write.
func (m *machine) WriteFile(ctx context.Context, name string, data []byte) (err error) {
	defer func() { platform.LogWrite(ctx, platform.Write{Machine: m.Name(), Name: name, Data: data, Err: err}) }()
	if err := ctx.Err(); err != nil {
		return err
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if strings.HasPrefix(name, "/sys/") || strings.HasPrefix(name, "/proc/") {
		flags = os.O_WRONLY
	}
	f, err := os.OpenFile(name, flags, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// groupMember is this machine in the role of one of several. All seats share its resources.
type groupMember struct {
	*machine
	name string
}

// Name distinguishes the seats of a group.
func (s *groupMember) Name() string { return s.name }

// Address is the loopback address, on which seats reach each other.
func (s *groupMember) Address(context.Context) (string, error) { return "127.0.0.1", nil }
