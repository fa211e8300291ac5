package service

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service/ports"
)

const (
	attempts = 5                // to find free ports
	patience = 30 * time.Second // without a response or progress of the daemon
	probing  = 2 * time.Second  // per response
)

// Recipe describes how a private instance is created.
type Recipe struct {
	Name  string // of the program, for messages
	Ports int    // free ports that it needs
	// Ordinary requests an unprivileged account if plimsoll runs as root.
	Ordinary bool
	// Daemon is the program to start at a place. It is called again with other ports if one of
	// them is in use.
	Daemon func(Location) (Daemon, error)
}

// Location is where an instance runs.
type Location struct {
	Dir   string // its existing folder on the machine
	Host  string // the address to listen at
	Ports []int
	Root  bool // the daemon will run as root
	// Shared says that other instances listen at the first port as well: it is opened with SO_REUSEPORT.
	Shared bool
}

// Daemon is a program that serves.
type Daemon struct {
	Argv   []string
	Stdin  []byte
	Stdout io.Writer                 // nil: added to the log
	Files  iter.Seq2[string, []byte] // to write before the start, by path below the folder; nil for none
	Copied map[string]string         // local files to copy before the start, as programs, by path below the folder; nil for none
	Log    string                    // its log file below the folder; empty for none
	Diary  string                    // file below the folder that tells events, beside the log; empty for none
	// Patience is the time limit without progress until it responds, under emulation; 0 is 30
	// s.
	Patience time.Duration
	// Ready connects to the daemon and returns its address. It is called until it succeeds.
	Ready func(ctx context.Context) (Live, error)
}

// Live is a daemon that responds.
type Live struct {
	Endpoints map[string]load.Endpoint // by protocol
	Observe   func(ctx context.Context) (map[string]string, error)
	Count     func(ctx context.Context) (map[string]float64, error) // nil: no counters
	// Adapt takes on settings as Adapter does, and returns the endpoints then; nil: the service takes on none.
	Adapt func(ctx context.Context, settings parameter.Settings) (map[string]load.Endpoint, error)
	// Unsettled describes unfinished background work, empty for none; nil: the service has
	// none.
	Unsettled func(ctx context.Context) (string, error)
	// Trouble is as in Troubled; nil: the service has none without dying.
	Trouble func(ctx context.Context) error
	// Pending names what happens to it in the middle of each load, by Disturb; empty for nothing.
	Pending string
	// Disturb is as in platform.Disturbed.
	Disturb func(ctx context.Context) (map[string]float64, error)
	// Release has it close its connections, each after the response under way, so that clients connect anew. Leave has it accept no
	// connection any more and end after the responses under way. Nil: it cannot.
	Release, Leave func(ctx context.Context) error
}

// launch starts a private instance: its folder, its files, its process. It returns when the
// daemon responds, and removes everything if it does not.
func launch(ctx context.Context, env Env, r Recipe) (Instance, error) {
	if err := makeFolder(ctx, env); err != nil {
		return nil, err
	}
	running, err := attempt(ctx, env, r)
	if err == nil {
		return running, nil
	}
	clear, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return nil, errors.Join(err, removeFolder(clear, env))
}

func attempt(ctx context.Context, env Env, r Recipe) (*Running, error) {
	place := Location{Dir: env.Dir, Host: cmp.Or(env.Host, Loopback)}
	var who account
	if r.Ordinary {
		var err error
		if who, err = ordinary(ctx, env); err != nil {
			return nil, err
		}
		place.Root = who.root
	}
	var err error
	for range attempts {
		if env.shared == 0 {
			place.Ports, err = ports.Free(ctx, env.Machine, r.Ports)
		} else {
			place.Shared = true
			place.Ports, err = portsWith(ctx, env, r.Ports)
		}
		if err != nil {
			return nil, err
		}
		var d Daemon
		if d, err = r.Daemon(place); err != nil {
			return nil, err
		}
		if err = errors.Join(writeFiles(ctx, env, d.Files), copyPrograms(ctx, env, d.Copied)); err != nil {
			return nil, err
		}
		d.Argv = slices.Concat(env.Via, who.prefix, d.Argv)
		var running *Running
		if running, err = start(ctx, env, r.Name, d); err == nil {
			return running, nil
		}
		var died *DeathError
		// All daemons print the C library's text of EADDRINUSE.
		if r.Ports == 0 || !errors.As(err, &died) || !strings.Contains(died.Log, "Address already in use") {
			return nil, err
		}
	}
	return nil, fmt.Errorf("each of %d free ports was taken before the service could bind it: %w", attempts, err)
}

// portsWith returns the shared port and n-1 other free ports. The shared one is free as well until the first server listens there.
func portsWith(ctx context.Context, env Env, n int) ([]int, error) {
	free, err := ports.Free(ctx, env.Machine, n)
	if err != nil {
		return nil, err
	}
	others := slices.DeleteFunc(free, func(p int) bool { return p == env.shared })
	return append([]int{env.shared}, others[:n-1]...), nil
}

// Files is one file for Daemon.Files.
func Files(name string, data []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) { yield(name, data) }
}

// Join joins sets of files.
func Join(all ...iter.Seq2[string, []byte]) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for _, files := range all {
			for name, data := range files {
				if !yield(name, data) {
					return
				}
			}
		}
	}
}

func writeFiles(ctx context.Context, env Env, files iter.Seq2[string, []byte]) error {
	if files == nil {
		return nil
	}
	folders := map[string]bool{env.Dir: true}
	for name, data := range files {
		full := path.Join(env.Dir, name)
		if dir := path.Dir(full); !folders[dir] {
			folders[dir] = true
			if _, err := output(ctx, env.Machine, "mkdir", "-p", "--", dir); err != nil {
				return fmt.Errorf("create a folder of a service: %w", err)
			}
		}
		if err := env.Machine.WriteFile(ctx, full, data); err != nil {
			return fmt.Errorf("write a file of a service: %w", err)
		}
	}
	return nil
}

// copyPrograms copies programs of this host to the folder of a service.
func copyPrograms(ctx context.Context, env Env, programs map[string]string) error {
	for name, own := range programs {
		f, err := os.Open(own)
		if err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // only read
		r, err := env.Machine.Run(ctx, platform.Command{Argv: []string{"install", "-m", "755", "/dev/stdin", path.Join(env.Dir, name)}, Stdin: f})
		if err == nil && r.Exit != 0 {
			err = errors.New(strings.TrimSpace(string(r.Stderr)))
		}
		if err != nil {
			return fmt.Errorf("copy program %s to machine %s: %w", name, env.Machine.Name(), err)
		}
	}
	return nil
}

// Loopback is the default address of an instance.
const Loopback = "127.0.0.1"

// Address is the listen address with one of the instance's ports.
func (p Location) Address(port int) string {
	return net.JoinHostPort(p.Host, strconv.Itoa(p.Ports[port]))
}

// DeathError is returned when a daemon exits on its own.
type DeathError struct {
	Program string
	Result  platform.Result
	Copied  map[string]string // local files to copy before the start, as programs, by path below the folder; nil for none
	Log     string            // the end of its log
}

// Error is the exit status with the last lines of the log.
func (e *DeathError) Error() string {
	if e.Log == "" {
		return e.How() + " and logged nothing"
	}
	return e.How() + ": " + e.Log
}

// said begins the line in which a starter of several processes says which of them ended.
const said = "plimsoll: "

// How is the exit status, with the process that ended if the daemon has several.
func (e *DeathError) How() string {
	if killed := e.Result.Killed(e.Program); killed != nil {
		return killed.Error()
	}
	how := fmt.Sprintf("%s ended with status %d%s", e.Program, e.Result.Exit, platform.NoteOutOfMemory(e.Result.OutOfMemory))
	for line := range strings.Lines(e.Log) {
		if which, ok := strings.CutPrefix(strings.TrimSpace(line), said); ok {
			return how + ": " + which
		}
	}
	return how
}

// lastLines is the end of a log.
func lastLines(text []byte) string {
	const most, longest = 10, 2000
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	lines = lines[max(0, len(lines)-most):]
	end := bytes.Join(lines, []byte("\n"))
	return strings.ToValidUTF8(string(end[max(0, len(end)-longest):]), "")
}
