package guesttest

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"plimsoll/internal/guest/outpost"
	"plimsoll/internal/platform"
)

// OtherHost is this host as another one, on which a program keeps guests. The network to it can be split.
func OtherHost(t testing.TB, program string) (*outpost.Host, *Split) {
	t.Helper()
	dir, err := os.MkdirTemp("", "po") // a short path, because socket paths are limited
	if err != nil {
		t.Fatal(err)
	}
	s := &Split{}
	s.healed.L = &s.mu
	t.Cleanup(func() {
		s.Heal()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	agent := filepath.Join(dir, filepath.Base(program))
	if err := os.Symlink(program, agent); err != nil {
		t.Fatal(err)
	}
	return &outpost.Host{Machine: other{s, agent}}, s
}

// Split stops all bytes between two hosts while it lasts, in both directions.
type Split struct {
	mu     sync.Mutex
	healed sync.Cond
	on     bool
}

// Begin begins a split.
func (s *Split) Begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on = true
}

// Heal ends it: what was on the way arrives.
func (s *Split) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on = false
	s.healed.Broadcast()
}

func (s *Split) pass() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.on {
		s.healed.Wait()
	}
}

// reader and writer are the ends of a way through the split.
type reader struct {
	io.Reader
	split *Split
}

func (r reader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err == nil {
		r.split.pass()
	}
	return n, err
}

type writer struct {
	io.Writer
	split *Split
}

func (w writer) Write(p []byte) (int, error) {
	w.split.pass()
	return w.Writer.Write(p)
}

type conn struct {
	net.Conn
	split *Split
}

func (c conn) Read(p []byte) (int, error)  { return reader{c.Conn, c.split}.Read(p) }
func (c conn) Write(p []byte) (int, error) { return writer{c.Conn, c.split}.Write(p) }

// other is the machine.
type other struct {
	split *Split
	agent string
}

func (o other) Name() string                         { return "other" }
func (o other) Self(context.Context) (string, error) { return o.agent, nil }

// Run runs a command, whose end is not heard during a split.
func (o other) Run(ctx context.Context, c platform.Command) (r platform.Result, err error) {
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	said := &limited{}
	cmd.Stderr = said
	var collected limited
	cmd.Stdout = &collected
	if c.Stdout != nil {
		cmd.Stdout = writer{c.Stdout, o.split}
	}
	if c.Stdin != nil { // as a pipe of our own, whose reader may never end
		in, err := cmd.StdinPipe()
		if err != nil {
			return r, err
		}
		go func() {
			_, _ = io.Copy(in, reader{c.Stdin, o.split}) // the command may end before
			_ = in.Close()
		}()
	}
	err = cmd.Run()
	o.split.pass()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		r.Exit, err = exit.ExitCode(), nil
	}
	r.Stdout, r.Stderr = collected.text, said.text
	return r, err
}

type limited struct{ text []byte }

func (l *limited) Write(p []byte) (int, error) {
	l.text = append(l.text, p...)
	return len(p), nil
}

func (o other) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return conn{c, o.split}, nil
}

func (o other) ReadFile(_ context.Context, name string) ([]byte, error) { return os.ReadFile(name) }

func (o other) WriteFile(_ context.Context, name string, data []byte) error {
	return os.WriteFile(name, data, 0o600)
}
